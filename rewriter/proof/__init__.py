"""Proves that a rewritten graph computes the same values: both graphs run over recorded steps and are compared."""

from __future__ import annotations

from rewriter.proof.proving import TOLERANCE, prove, prove_graphs, record
from rewriter.proof.recording import Recording, Step
from rewriter.proof.result import Compared, Difference, Proof

__all__ = ["TOLERANCE", "Compared", "Difference", "Proof", "Recording", "Step", "prove", "prove_graphs", "record"]
