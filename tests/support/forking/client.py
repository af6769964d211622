"""What is started in place of Python: it has the server fork a process, and is that process to whoever started it.

The text is copied into a file beside the server's socket, behind a line that names the interpreter.
"""

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

_SOCKET = Path(__file__).with_name("socket")
_PYTHON = Path(__file__).with_name("interpreter")
_SECONDS = 300  # on a busy machine the import of TensorFlow has taken more than two minutes


def _connected() -> socket.socket:
    # The server may be importing TensorFlow still.
    until = time.monotonic() + _SECONDS
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(_SOCKET))
            return connection
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def _main() -> None:
    arguments = sys.argv[1:]
    if not arguments or (arguments[0].startswith("-") and arguments[0] not in ("-m", "-c")):
        real = Path(_PYTHON).read_text()
        os.execv(real, [real, *arguments])
    connection = _connected()
    request = json.dumps([arguments, dict(os.environ), os.getcwd(), os.getpgrp()]).encode()  # noqa: PTH109
    socket.send_fds(connection, [len(request).to_bytes(8, "big")], [0, 1, 2])
    connection.sendall(request)
    process = int.from_bytes(connection.recv(8), "big")
    os.closerange(0, 3)  # only the process holds the pipes now
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(process, number))
    code = int.from_bytes(connection.recv(8), "big", signed=True)
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


_main()
