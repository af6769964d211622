"""What an op does with an input, by its type."""

from __future__ import annotations

import pytest

from migrate.trace.child.op_kinds import kind_of

KINDS = {
    "lookup": ["ResourceGather", "GatherV2", "Gather", "SparseSegmentMean", "SparseSegmentSumWithNumSegments"],
    "update": ["ResourceApplyAdam", "SparseApplyFtrl", "ApplyMomentum", "ResourceSparseApplyAdagradV2"],
    "assign": ["Assign", "AssignVariableOp", "AssignSub", "AssignAddVariableOp", "ResourceScatterSub", "ScatterNdAdd"],
    "save": ["SaveV2"],
    "shape": ["Shape", "VariableShape", "VarIsInitializedOp"],
    "whole": ["MatMul", "GatherNd", "ResourceGatherNd", "SparseSegmentMeanGrad", "TensorScatterAdd", "ScatterNd"],
}


@pytest.mark.parametrize(("kind", "op"), [(kind, op) for kind, types in KINDS.items() for op in types])
def test_the_kind_of_the_first_input(kind: str, op: str) -> None:
    assert kind_of(op, 0) == kind


@pytest.mark.parametrize("op", ["GatherV2", "ResourceScatterAdd", "AssignVariableOp", "SparseSegmentSum"])
def test_any_other_input_is_read_as_a_whole(op: str) -> None:
    """As ids, or as values that are written elsewhere."""
    assert kind_of(op, 1) == "whole"
    assert kind_of("ResourceApplyAdam", 2) == "update"  # a slot
