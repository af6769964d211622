"""Imports pyarrow, an optional dependency that reads CSV and Parquet."""

from __future__ import annotations

from typing import Any

from migrate.errors import MigrateError

try:
    import pyarrow
    import pyarrow.compute
    import pyarrow.csv
    import pyarrow.parquet
except ImportError as error:
    raise MigrateError(f"`migrate dataset build` needs pyarrow ({error}); run `pip install 'pyarrow>=17'`") from error

# Blocks are processed in parallel processes, so additional threads would not be faster.
pyarrow.set_cpu_count(1)
pyarrow.set_io_thread_count(1)

pa: Any = pyarrow
compute: Any = pyarrow.compute
csv: Any = pyarrow.csv
parquet: Any = pyarrow.parquet
