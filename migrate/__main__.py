"""`python -m migrate` is the `migrate` command."""

import os
import sys

# `-m` puts the working directory before all packages: a `click.py` of a tree that is checked would be imported. Here it
# is taken out, unless this program itself lies there. What is imported so far is of Python.
_HOME = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120 - pathlib may be such a file
if not getattr(sys.flags, "safe_path", False) and os.path.realpath(sys.path[0]) != _HOME:
    del sys.path[0]

from migrate.cli.main import main  # noqa: E402

main()
