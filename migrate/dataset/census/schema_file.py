"""The feature schema of the prepared data, as `migrate convert --schema` reads it."""

from __future__ import annotations

from migrate.dataset.census.columns import DENSE, LABELS, SPARSE


def schema_text(sizes: list[int]) -> str:
    """Return schema.yaml for MMoE on sparse columns with `sizes` ids each (29 numbers)."""
    start = len(DENSE)
    groups = []
    for name, size in zip(SPARSE, sizes, strict=True):
        groups.append(f"    - {{name: {name}, start: {start}, size: {size}}}\n")
        start += size
    tasks = [
        f"  - {{name: {label}, output: {i}, label: {label}, loss: log_loss, positive: 1, epsilon: 1.0e-4}}\n"
        for i, label in enumerate(LABELS)
    ]
    return (
        f"# Census-Income (KDD), written by `migrate dataset census`: {len(DENSE)} numeric columns, then {len(SPARSE)}"
        f" one-hot groups, {start} columns in all.\n"
        "version: 1\n"
        "model:\n"
        "  class: MMoELayer\n"
        f"  arguments: {{feature_size: {start}, expert_num: 8, expert_size: 16, tower_size: 8, gate_num: 2}}\n"
        "input:\n"
        "  name: input_data\n"
        f"  size: {start}\n"
        f"  dense: [[0, {len(DENSE)}]]\n"
        "  sparse:\n" + "".join(groups) + f"labels: [{', '.join(LABELS)}]\n"
        "tasks:\n" + "".join(tasks)
    )
