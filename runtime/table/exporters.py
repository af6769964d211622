"""Says, when a graph gets tables, that what this training will export needs the operations of the tables."""

from __future__ import annotations

import logging

from runtime import _tf_private_estimator

_log = logging.getLogger("runtime")
_told: list[str] = []


def tell_once() -> None:
    """Warn, once in a process, if an Estimator exports, or will at the end of an evaluation.

    It is said at the start of training, so that nobody learns it from the server that cannot load the export.
    """
    if _told:
        return
    exports = _tf_private_estimator.exports_to_come()
    if exports:
        _told.extend(exports)
        _log.warning(
            "%s: what is exported holds tables; whoever loads it must first load their operations, by "
            "`tf.load_op_library` of librecmigrate.so or `runtime.native.ops()` (docs/serving.md)",
            ", ".join(exports),
        )
