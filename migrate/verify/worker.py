"""The process that runs one side: `python -m migrate.verify.worker MODULE JOB RESULT`."""

from __future__ import annotations

import importlib
import pickle
import sys
import traceback
from pathlib import Path

from migrate.errors import MigrateError


def main(module: str, job_path: str, result_path: str) -> None:
    """Load the job, run it, write the result or the error."""
    job = pickle.loads(Path(job_path).read_bytes())
    try:
        result = importlib.import_module(module).run(job)
    except MigrateError as error:
        result = {"error": str(error), "unexpected": False}
    except Exception as error:
        traceback.print_exc()
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        result = {"error": f"{job['path']}: running it failed with {what}", "unexpected": True}
    Path(result_path).write_bytes(pickle.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
