"""Makes the `benchmarks` package importable: it is part of the repository and not of the distribution."""

import sys

from tests.support.paths import ROOT

sys.path.insert(0, str(ROOT))
