"""Loads a SavedModel by TensorFlow's C API, looks up ids 1, 2 and 77 and prints the values of their rows as JSON.

`c_api.py MODEL INPUT OUTPUT [LIBRARY]`; the process has the libraries of TensorFlow, but not its Python.
"""

import ctypes
import importlib.util
import json
import sys
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path
from typing import Any

_FLOAT_BYTES = 4


class _Port(ctypes.Structure):
    _fields_ = [("operation", c_void_p), ("index", c_int)]


def main(model: str, given: str, wanted: str, library: str = "") -> None:
    """Print the values."""
    found = importlib.util.find_spec("tensorflow")
    assert found is not None and found.origin is not None
    for name in ("libtensorflow_framework.so.2", "libtensorflow_cc.so.2"):
        tensorflow = ctypes.CDLL(str(Path(found.origin).with_name(name)), ctypes.RTLD_GLOBAL)

    def call(name: str, *arguments: Any, gives: Any = c_void_p) -> Any:
        function = tensorflow[name]
        function.restype = gives
        return function(*arguments)

    def checked(value: Any) -> Any:
        if call("TF_GetCode", status, gives=c_int):
            sys.exit(call("TF_Message", status, gives=c_char_p).decode())
        return c_void_p(value)

    def port(name: str) -> _Port:
        return _Port(call("TF_GraphOperationByName", graph, name.encode()), 0)

    status, graph, options = (c_void_p(call(f"TF_New{what}")) for what in ("Status", "Graph", "SessionOptions"))
    if library:
        checked(call("TF_LoadLibrary", library.encode(), status))
    tags = (c_char_p * 1)(b"serve")
    opened = (options, None, model.encode(), tags, 1, graph, None, status)
    session = checked(call("TF_LoadSessionFromSavedModel", *opened))
    ids, int64 = (c_int64 * 3)(1, 2, 77), 9
    tensor = c_void_p(call("TF_AllocateTensor", int64, (c_int64 * 1)(3), 1, c_size_t(ctypes.sizeof(ids))))
    ctypes.memmove(call("TF_TensorData", tensor), ids, ctypes.sizeof(ids))
    rows = c_void_p()
    fed, fetched = (byref(port(given)), byref(tensor), 1), (byref(port(wanted)), byref(rows), 1)
    checked(call("TF_SessionRun", session, None, *fed, *fetched, None, 0, None, status, gives=None))
    count = call("TF_TensorByteSize", rows, gives=c_size_t) // _FLOAT_BYTES
    print(json.dumps(ctypes.cast(call("TF_TensorData", rows), POINTER(c_float))[:count]))


main(*sys.argv[1:])
