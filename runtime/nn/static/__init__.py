"""Static graphs with Paddle's names: `paddle.static` and what its programs take of `paddle.distributed`."""

from __future__ import annotations

from runtime.nn.static import nn
from runtime.nn.static.entries import CountFilterEntry, ProbabilityEntry, ShowClickEntry
from runtime.nn.static.lod import LoDTensor, data
from runtime.nn.static.metrics import accuracy, auc, ctr_metric_bundle
from runtime.nn.static.program import Program
from runtime.nn.static.readers import MultiSlotDataGenerator, MultiSlotStringDataGenerator
from runtime.nn.static.training import StaticTraining

__all__ = [
    "CountFilterEntry",
    "LoDTensor",
    "MultiSlotDataGenerator",
    "MultiSlotStringDataGenerator",
    "ProbabilityEntry",
    "Program",
    "ShowClickEntry",
    "StaticTraining",
    "accuracy",
    "auc",
    "ctr_metric_bundle",
    "data",
    "nn",
]
