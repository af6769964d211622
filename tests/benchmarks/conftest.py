"""Makes the `benchmarks` package importable: it is part of the repository and not of the distribution."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
