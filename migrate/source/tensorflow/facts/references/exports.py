"""Calls that export graphs or models with their tables; programs that load them need the operations of the tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from migrate.source.tensorflow.base.model import Adaptation
from migrate.source.tensorflow.base.rule_kinds import File

#: The rule that notes an export.
RULE = "tf-export"
#: The operations of the tables are exported, and with a SavedModel also their rows.
OPERATIONS = "operations"
#: The values of variables are exported as constants.
CONSTANTS = "constants"
#: Export functions and methods by name, on any object, some qualified by what precedes the name: first of graphs and
#: models, then methods of an Estimator, and exporters that it runs while it trains.
_GRAPHS = """
    add_meta_graph add_meta_graph_and_variables as_graph_def export_meta_graph export_scoped_meta_graph
    models.save_model saved_model.save save_keras_model simple_save write_graph
    export_all_saved_models experimental_export_all_saved_models export_eval_savedmodel export_saved_model
    export_saved_model_for_mode export_savedmodel
    BestExporter FinalExporter LatestExporter StepsExporter exporter.Exporter ExportStrategy
    make_best_model_export_strategy make_export_strategy make_parsing_export_strategy
"""
#: Frozen graphs, TensorFlow Lite and TensorRT.
_FROZEN = """
    convert_variables_to_constants convert_variables_to_constants_from_session_graph convert_variables_to_constants_v2
    freeze_graph freeze_graph_with_def_protos
    TFLiteConverter TFLiteConverter.from_concrete_functions TFLiteConverter.from_keras_model
    TFLiteConverter.from_keras_model_file TFLiteConverter.from_saved_model TrtGraphConverter TrtGraphConverterV2
    create_inference_graph from_frozen_graph from_session toco_convert
"""
EXPORTS = dict.fromkeys(_GRAPHS.split(), OPERATIONS) | dict.fromkeys(_FROZEN.split(), CONSTANTS)
#: Names that unrelated objects also have; without an import, what precedes the name decides.
SHARED = {"create_inference_graph", "from_frozen_graph", "from_session"}
CONVERTERS = re.compile(r"trt|tensorrt|lite|toco|converter", re.IGNORECASE)
_LAST = {name.rpartition(".")[2] for name in EXPORTS}


def exports(file: File) -> Iterator[tuple[cst.CSTNode, str, str]]:
    """Yield the exports in source order, each with its node, its text and what it writes.

    They are calls, and mentions of TensorFlow's own functions and classes, which may be used in a dict, in a `partial`
    or as a base class.
    """
    calls = [(call, call.func, _written(file, call.func)) for call in file.tree.calls]
    called = {id(call.func) for call in file.tree.calls}
    mentioned = [node for node in file.names.mentions(_LAST.__contains__) if id(node) not in called]
    alone = [node for node in mentioned if _is_value(file, node) and file.names.of(node) is not None]
    every: list[tuple[cst.CSTNode, cst.BaseExpression, str | None]] = [*calls]
    every += [(node, node, _written(file, node)) for node in alone]
    for node, named, kind in sorted(every, key=lambda export: file.tree.span(export[0])[0]):
        if kind is not None:
            yield node, file.tree.one_line(named), kind


def note(node: cst.CSTNode, text: str) -> Adaptation:
    """Return the note on code with this text, which writes the operations of tables."""
    reason = "a program that loads the export must first load the operations of the tables"
    action = "see docs/serving.md, also for serving without them"
    return Adaptation(node, RULE, f"`{text}` writes the tables as custom operations", reason, action=action)


def _is_value(file: File, node: cst.CSTNode) -> bool:
    """False for a part of a longer name, and for a type annotation."""
    return not isinstance(file.tree.parent(node), (cst.Attribute, cst.Annotation))


def _written(file: File, named: cst.BaseExpression) -> str | None:
    """Return what a function or class exports; None if it is not known to export."""
    known = file.names.of(named)
    parts = re.findall(r"\w+", known or file.tree.source(named))
    last = parts[-1] if parts else ""
    if last in SHARED and known is None and not any(CONVERTERS.search(part) for part in parts[:-1]):
        return None
    return EXPORTS.get(".".join(parts[-2:])) or EXPORTS.get(last)
