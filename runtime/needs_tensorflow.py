"""Says what is missing where TensorFlow is not installed. `runtime` imports this before anything that imports it."""

from __future__ import annotations

import importlib.util

if importlib.util.find_spec("tensorflow") is None:
    raise ModuleNotFoundError(
        "runtime needs TensorFlow 2.15 to 2.21, which is not installed: run `pip install 'recmigrate[runtime]'`, or "
        "`pip install tensorflow-cpu` for a smaller one without GPUs",
        name="tensorflow",
    )
