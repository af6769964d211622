"""Models and schemas that the tests share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from migrate.schema import Schema, parse_schema
from tests.support.paths import ROOT

HERE = ROOT / "tests" / "migrate" / "source" / "paddle"
EXAMPLE = ROOT / "examples" / "mmoe"


def source(name: str) -> str:
    """Return the text of a model under `sources/`."""
    return (HERE / "sources" / f"{name}.py").read_text(encoding="utf-8")


def example_files() -> dict[str, str]:
    """Return name -> text of examples/mmoe."""
    return {path.name: path.read_text(encoding="utf-8") for path in EXAMPLE.iterdir() if path.is_file()}


def schema(
    model: str,
    arguments: Mapping[str, object],
    tasks: Sequence[str] = ("{name: a, output: 0, label: a}", "{name: b, output: 1, label: b}"),
    layout: str = "{size: 20, dense: [[0, 3]], sparse: [{name: p, start: 3, size: 9}, {name: q, start: 12, size: 8}]}",
    labels: str = "[a, b]",
) -> Schema:
    """Return a small schema: 3 dense columns and two one-hot groups unless said otherwise."""
    given = ", ".join(
        f"{key}: {str(value).lower() if isinstance(value, bool) else value}" for key, value in arguments.items()
    )
    listed = ", ".join(tasks)
    head = f"version: 1\nmodel: {{class: {model}, arguments: {{{given}}}}}\n"
    return parse_schema(f"{head}input: {layout}\nlabels: {labels}\ntasks: [{listed}]\n", "schema.yaml")


ONE_TASK = ("{name: a, output: 0, label: a, positive: 0}",)
#: id -> (source name, schema)
MODELS: dict[str, tuple[str, Schema]] = {
    "share-bottom": (
        "share_bottom",
        schema("ShareBottomLayer", {"feature_size": 20, "task_num": 2, "bottom_size": 7, "tower_size": 4}),
    ),
    "dnn": (
        "dnn",
        schema("DNNLayer", {"feature_size": 20, "layer_sizes": [8, 4]}, ONE_TASK, labels="[a]"),
    ),
    "dnn-dense-only": (
        "dnn",
        schema("DNNLayer", {"feature_size": 6, "layer_sizes": [4]}, ONE_TASK, "{size: 6, dense: [[0, 6]]}", "[a]"),
    ),
    "dnn-scattered-columns": (
        "dnn",
        schema(
            "DNNLayer",
            {"feature_size": 12, "layer_sizes": [4]},
            ("{name: a, output: 0, label: a, positive: 0, loss: square_error, weight: 0.5}",),
            "{size: 12, dense: [[10, 12], [4, 6]], "
            "sparse: [{name: q, start: 6, size: 4}, {name: p, start: 0, size: 4}]}",
            "[a]",
        ),
    ),
    "every-call": ("everything", schema("EverythingLayer", {"feature_size": 20})),
    "cross-entropy": (
        "everything",
        schema(
            "EverythingLayer",
            {"feature_size": 20},
            ("{name: b, output: 1, label: b, loss: cross_entropy}", "{name: a, output: 0, label: a, weight: 2}"),
        ),
    ),
}
