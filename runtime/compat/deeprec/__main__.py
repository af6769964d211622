"""`python -m runtime.compat.deeprec script.py args…` runs a script written for DeepRec, as TensorFlow 1 would."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

USAGE = "usage: python -m runtime.compat.deeprec script.py [argument ...]"


def main(arguments: list[str]) -> int:
    """Run the script `arguments[0]` as the main module with the other arguments.

    Its exit code is the script's, and so is the traceback where an error ends it.
    """
    if not arguments or arguments[0].startswith("-"):
        print(USAGE, file=sys.stderr)
        return 0 if arguments and arguments[0] in ("-h", "--help") else 2
    path = Path(arguments[0])
    try:
        source = path.read_bytes()
    except OSError as error:
        print(f"runtime.compat.deeprec: cannot read {path}: {error.strerror}", file=sys.stderr)
        return 2

    import tensorflow as tf

    from runtime.compat.deeprec import install
    from runtime.compat.deeprec.tensorflow_1 import served

    tf.compat.v1.disable_v2_behavior()
    install()
    sys.argv = arguments
    sys.path[0] = str(path.resolve().parent)
    module = ModuleType("__main__")
    module.__dict__.update({"__file__": str(path), "__builtins__": __builtins__})
    sys.modules["__main__"] = module
    with served(estimator=b"estimator" in source):
        try:
            exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
        except Exception as error:
            # The first entry is the line above.
            error.__traceback__ = None if error.__traceback__ is None else error.__traceback__.tb_next
            sys.excepthook(type(error), error, error.__traceback__)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
