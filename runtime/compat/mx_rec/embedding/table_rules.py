"""Rec SDK's rules for the arguments of `create_table` that the runtime's own does not have."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

from runtime import _validation
from runtime.table import arguments

_log = logging.getLogger("runtime")
#: The default directory for rows on disk.
SSD_DATA_PATH = (os.getcwd(),)  # noqa: PTH109
#: Defaults of arguments that are checked, and change nothing.
_NO_EFFECT = {"shard_num": 1, "fusion_optimizer_var": True, "hashtable_threshold": 0}


def check(given: Mapping[str, Any]) -> None:
    """Check all arguments; those that have no effect are logged.

    Raises:
        ValueError: a type, range or combination is wrong.
    """
    arguments.check_rules(given)
    _validation.integer("host_vocabulary_size", given["host_vocabulary_size"], 0, arguments.MAX_ROWS)
    _validation.integer("ssd_vocabulary_size", given["ssd_vocabulary_size"], 0, arguments.MAX_ROWS)
    if given["ssd_vocabulary_size"] > 0 and given["host_vocabulary_size"] == 0:
        raise ValueError(
            "`ssd_vocabulary_size` needs a `host_vocabulary_size` above 0, because the SSD tier is below the host's"
        )
    _validation.integer("shard_num", given["shard_num"], 1, 8192)
    _validation.integer("hashtable_threshold", given["hashtable_threshold"], 0)
    for flag in ("is_dp", "enable_merge", "padding_keys_mask", "fusion_optimizer_var"):
        _validation.boolean(flag, given[flag])
    _validation.kind("ssd_data_path", given["ssd_data_path"], (list, tuple), "a list or tuple of str")
    for path in given["ssd_data_path"]:
        _validation.text("ssd_data_path", path, 1024)
    _check_padding(given)
    for argument, default in _NO_EFFECT.items():
        if given[argument] != default:
            _log.info("create_table(%r): %s has no effect in this runtime", given["name"], argument)


def _check_padding(given: Mapping[str, Any]) -> None:
    keys, length = given["padding_keys"], given["padding_keys_len"]
    if keys is not None and length is None:
        raise ValueError("`padding_keys` needs `padding_keys_len`: give the largest number of distinct ids of a batch")
    if (keys is not None) != given["padding_keys_mask"]:
        raise ValueError("`padding_keys_mask` must be True if and only if `padding_keys` is given")
    if length is not None:
        _validation.integer("padding_keys_len", length, 1)
