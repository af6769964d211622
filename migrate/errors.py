"""The exception for errors that a user can fix, and what to install for a module that is missing."""

#: What to install for a module that is not there, where its name does not say it: what the extras of setup.cfg bring,
#: because the package itself may be on no index, and is installed already.
PACKAGES = {
    "tensorflow": "'tensorflow>=2.15,<2.22'",
    "paddle": "paddlepaddle==2.6.2 'numpy<2' setuptools",
    "pyarrow": "'pyarrow>=17'",
    "yaml": "PyYAML",
    "google": "protobuf",
}


class MigrateError(Exception):
    """An error whose message is one sentence: the thing, what is wrong with it, and the remedy.

    The command prints it and exits with code 2.
    """
