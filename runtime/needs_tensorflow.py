"""Says what is missing where TensorFlow is not installed. `runtime` imports this before anything that imports it."""

from __future__ import annotations

import importlib.util
import sys

# A stand-in of documentation tools, which has no spec, is one that is installed.
if sys.modules.get("tensorflow") is None and importlib.util.find_spec("tensorflow") is None:
    raise ModuleNotFoundError(
        "runtime needs TensorFlow 2.15 to 2.21, which is not installed: run `pip install 'tensorflow>=2.15,<2.22'`, or "
        "`pip install tensorflow-cpu` for a smaller one without GPUs",
        name="tensorflow",
    )
