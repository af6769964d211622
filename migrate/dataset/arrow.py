"""The one place that imports pyarrow, which reads CSV and Parquet; it is an optional dependency."""

from __future__ import annotations

from typing import Any

from migrate.errors import MigrateError

try:
    import pyarrow
    import pyarrow.compute
    import pyarrow.csv
    import pyarrow.parquet
except ImportError as error:
    raise MigrateError(
        f"`migrate dataset build` needs the package pyarrow ({error}): pip install pyarrow, or recmigrate[dataset]"
    ) from error

# Processes share the work: threads of their own would only be in each other's way.
pyarrow.set_cpu_count(1)
pyarrow.set_io_thread_count(1)

pa: Any = pyarrow
compute: Any = pyarrow.compute
csv: Any = pyarrow.csv
parquet: Any = pyarrow.parquet
