"""How many examples are drawn: `--hypothesis-profile=quick` half as many, `long` 25 times, `unshrunk` as they came."""

from __future__ import annotations

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
settings.register_profile("long", settings.get_profile("whole"), max_examples=1000)
settings.register_profile("quick", settings.get_profile("whole"), max_examples=20)
settings.register_profile("unshrunk", settings.get_profile("whole"), phases=[Phase.explicit, Phase.generate])
settings.load_profile("whole")
