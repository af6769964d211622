"""How many examples are drawn: `--hypothesis-profile=quick` half as many, `long` 25 times, `unshrunk` as they came.

`MIGRATE_FUZZ=4000` draws ten times what `long` does without it, as it does for the other fuzzers of `make soak`.
"""

from __future__ import annotations

import os

import tensorflow as tf
from hypothesis import HealthCheck, Phase, settings

tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)

# max_examples is a percentage of what each test asks for (property_settings.run). Runs are alike, in CI and elsewhere.
settings.register_profile(
    "whole",
    max_examples=40,
    deadline=None,
    report_multiple_bugs=False,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
_LONG = int(os.environ.get("MIGRATE_FUZZ", "400")) * 1000 // 400
settings.register_profile("long", settings.get_profile("whole"), max_examples=max(_LONG, 1))
settings.register_profile("quick", settings.get_profile("whole"), max_examples=20)
settings.register_profile("unshrunk", settings.get_profile("whole"), phases=[Phase.explicit, Phase.generate])
settings.load_profile("whole")
