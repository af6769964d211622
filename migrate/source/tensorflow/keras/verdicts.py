"""Verdicts on the `Embedding` layers of a file, by how the model is trained, saved and run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

import libcst as cst
import libcst.matchers as m

from migrate.source.flow import Result, Symbol, Value
from migrate.source.tensorflow.base.arguments import is_none, literal, string
from migrate.source.tensorflow.base.bindings import assigned_value, is_target
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.other_sdks import RULE as OTHER_SDK
from migrate.source.tensorflow.base.other_sdks import of_other_sdk
from migrate.source.tensorflow.base.rule_kinds import File, FileRule
from migrate.source.tensorflow.base.rule_registry import rules
from migrate.source.tensorflow.base.user_choice import keep, quiet
from migrate.source.tensorflow.base.value_flow import flow_of, makers, partials, results, symbol_of
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.facts.variables.embedding_columns import KERAS_READERS
from migrate.source.tensorflow.facts.variables.keras_layers import RULE, Layer, find_layers
from migrate.source.tensorflow.keras.backend import other_backends
from migrate.source.tensorflow.keras.columns import columns_of
from migrate.source.tensorflow.keras.copies import copied
from migrate.source.tensorflow.keras.given_up_buckets import give_up_buckets
from migrate.source.tensorflow.keras.layer_uses import are_layers, blocker_at, check_matrix, check_places, use_blockers
from migrate.source.tensorflow.keras.optimizers import has_state, several

#: Optimizers with a counterpart for tables, in lower case: the arguments that they must not have.
OPTIMIZERS = {
    "sgd": {"weight_decay", "use_ema"},
    "adagrad": {"weight_decay", "use_ema"},
    "adam": {"amsgrad", "use_ema"},
    "adamw": {"amsgrad", "use_ema"},
}
#: Those of them that may be given by their place.
PLACED = {("sgd", 3): "weight_decay", ("adagrad", 3): "weight_decay", ("adam", 4): "amsgrad", ("adamw", 5): "amsgrad"}
OTHERS = {"rmsprop", "adadelta", "adamax", "nadam", "ftrl", "lion", "adafactor", "lamb", "muon"}
KNOWN_OR_NOT = OPTIMIZERS.keys() | OTHERS
#: An optimizer that leaves the update to the one that it is given.
WRAPPER = "LossScaleOptimizer"
#: Functions that only code for v1 graphs calls.
OF_SESSIONS = {
    "Session", "InteractiveSession", "placeholder", "sparse_placeholder", "disable_eager_execution",
    "disable_v2_behavior", "train.MonitoredTrainingSession", "estimator.EstimatorSpec", "estimator.Estimator",
    "keras.estimator.model_to_estimator", "keras.backend.get_session",
    "keras.backend.set_session",
}  # fmt: skip
LOADERS = {"keras.models.load_model", "keras.saving.load_model", "saved_model.load", "saved_model.load_v2"}
#: What saves a model by its path. Weights alone go to .h5 in Keras 2 only.
STORES = {"save", "save_model", "ModelCheckpoint"}
#: What `save_format` calls .h5.
FORMATS = {"h5", "hdf5"}


@dataclass
class LayerJudgement:
    """The verdicts on the layers of a file."""

    layers: list[Layer]
    file_blockers: list[Blocker] = field(default_factory=list)
    assumed: list[Blocker] = field(default_factory=list)  #: blockers that `--assume` lifted
    optimizers: list[str] = field(default_factory=list)
    stateful: list[cst.CSTNode] = field(default_factory=list)  #: calls that create optimizers with slots

    @property
    def moving(self) -> list[Layer]:
        """The layers that become tables."""
        return [layer for layer in self.layers if not layer.blockers] if not self.file_blockers else []


def judge_layers(
    home: File, assume: bool, file: File | None = None, own: Collection[str] | None = None
) -> LayerJudgement:
    """Return the verdicts on the layers of `home`; a layer is converted only if it has no blocker.

    `file` is `home` with all files that may run in one program with it, `own` the paths of those that run in no other.
    """
    file = home if file is None else file
    judgement = LayerJudgement([*find_layers(file, home), *columns_of(file, home)])
    if not judgement.layers:
        return judgement
    if (kept := of_other_sdk(file, home.tree.module)) is not None:
        for layer in judgement.layers:
            layer.blockers[:] = [kept]
            keep(file, layer.label, [(layer.call, layer.kind.rule)], layer.blockers)
        quiet(file, (layer.blockers for layer in judgement.layers))
        return judgement
    judgement.file_blockers = [
        *_of_programs(file),
        *_surroundings(file),
        *other_backends(file),
        *_training(file, home, judgement),
        *_storing(file),
        *_loaded(file),
        *copied(file, judgement.layers),
    ]
    judgement.file_blockers += [
        *use_blockers(file, judgement.layers),
        *several(file, judgement.stateful, judgement.layers),
    ]
    lacks = file.target.lacks(file.switches)
    for layer in judgement.layers:
        lacking = lacks.get(layer.kind.name) or lacks.get("Embedding")
        if lacking is not None:
            layer.blockers.append(
                blocker(layer.call, RULE, "lacking-target", label=layer.label, title=file.target.title, lacking=lacking)
            )
        check_places(file, layer)
        check_matrix(file, layer)
        keep(file, layer.label, [(call, layer.kind.rule) for call in (layer.call, *layer.calls)], layer.blockers)
    quiet(file, [judgement.file_blockers, *(layer.blockers for layer in judgement.layers)])
    if assume:
        for blockers in (judgement.file_blockers, *(layer.blockers for layer in judgement.layers)):
            judgement.assumed += [blocker for blocker in blockers if blocker.assumption]
            blockers[:] = [blocker for blocker in blockers if not blocker.assumption]
    if file.unbucket:
        give_up_buckets(file, {home.tree.path} if own is None else own, judgement.moving)
    return judgement


def _of_programs(file: File) -> Iterator[Blocker]:
    """Block where the program changes the framework, so that a layer may be another class, or tries another SDK."""
    for rule in rules(FileRule):
        for part in file.files if rule.id in {"tf-patched", OTHER_SDK} else ():
            yield from rule.blockers(part)


def _surroundings(file: File) -> Iterator[Blocker]:
    for call, name in file.names.calls:
        if name in OF_SESSIONS:
            yield blocker_at(file, call, "session")
        if name.startswith("distribute.") and name.endswith("Strategy"):
            yield blocker_at(file, call, "distributed")
    for call in file.tree.calls:
        jit = next((a for a in call.args if a.keyword and a.keyword.value == "jit_compile"), None)
        if jit is not None and literal(jit.value) not in (False, None, "auto"):
            yield blocker_at(file, jit, "compiled")


def _training(file: File, home: File, judgement: LayerJudgement) -> Iterator[Blocker]:
    """Block on each optimizer that cannot train a table, and where no optimizer is known."""
    seen = False
    for call in file.tree.calls:
        given = None if is_foreign(file, call) else _compiled_with(call)
        if given is not None:
            seen = True
            yield from _named_or_bound(file, given.value, judgement)
        for name in sorted(_called(file, call)):
            if name.startswith("train.") and name.endswith("Optimizer"):
                seen = True
                yield blocker_at(file, call, "unknown-optimizer")
            if _is_optimizer(name):
                seen = True
                yield from _made(file, call, name, judgement)
    yield from _set_later(file, judgement)
    if not seen:
        others = f" or in the {len(file.files) - 1} that run with it" if len(file.files) > 1 else ""
        yield blocker(home.tree.module, RULE, "no-optimizer", others=others)


def _called(file: File, call: cst.Call) -> set[str]:
    """Return the symbols of the framework that a call may be of, by whatever name it goes."""
    spelled = file.names.of(call.func)
    followed = [symbol_of(value) for value in results(file, call)] if spelled is None else [spelled]
    return {name for name in followed if name is not None}


def _compiled_with(call: cst.Call) -> cst.Arg | None:
    """Return the optimizer of `model.compile(...)`; None for other calls."""
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "compile" or not call.args:
        return None
    first, text = call.args[0], (string(call.args[0].value) or "").lower()
    plain = first.keyword is None and (text in KNOWN_OR_NOT or (not first.star and string(first.value) is None))
    named = (arg for arg in call.args if arg.keyword and arg.keyword.value == "optimizer")
    return next(named, first if plain else None)


def is_foreign(file: File, call: cst.Call) -> bool:
    """True for `re.compile(...)` and the like: functions of other libraries."""
    values = flow_of(file).values(call.func)
    return bool(values) and all(isinstance(value, Symbol) and symbol_of(value) is None for value in values)


def _is_optimizer(name: str) -> bool:
    head, _, last = name.rpartition(".")
    places = {"optimizers", "optimizers.legacy", "optimizers.experimental"}
    return head.removeprefix("keras.") in places and last.lower() in KNOWN_OR_NOT


def _named_or_bound(file: File, node: cst.BaseExpression, judgement: LayerJudgement) -> Iterator[Blocker]:
    values = [*_inner(file, flow_of(file).values(node))]
    texts = {text for value in values if (text := string(value.node)) is not None}
    for text in sorted(texts):
        judgement.optimizers.append(text)
        if has_state(text, None):
            judgement.stateful.append(node)
        if text.lower() not in OPTIMIZERS:
            yield blocker_at(file, node, "unknown-optimizer")
    made = {one for one in values if isinstance(one, Result) and _is_optimizer(symbol_of(one) or "")}
    if any(string(value.node) is None and value not in made for value in values):
        yield blocker_at(file, node, "computed-optimizer")


def _inner(file: File, values: Iterable[Value]) -> Iterator[Value]:
    """Yield values, and for a wrapper what it is given."""
    for value in values:
        call = value.node if isinstance(value, Result) else None
        if isinstance(call, cst.Call) and call.args and (symbol_of(value) or "").endswith(f".{WRAPPER}"):
            yield from _inner(file, flow_of(file).values(call.args[0].value))
        else:
            yield value


def _made(file: File, call: cst.Call, name: str, judgement: LayerJudgement) -> Iterator[Blocker]:
    short = name.rpartition(".")[2]
    judgement.optimizers.append(short)
    if has_state(short, call):
        judgement.stateful.append(call)
    if short.lower() not in OPTIMIZERS:
        yield blocker_at(file, call, "unknown-optimizer")
        return
    if any(arg.star for arg in call.args) or partials(file, call.func):
        yield blocker_at(file, call, "unread-optimizer")
    for place, arg in enumerate(call.args):
        word = arg.keyword.value if arg.keyword else PLACED.get((short.lower(), place), "")
        if word in OPTIMIZERS[short.lower()] and not is_none(arg) and literal(arg.value) is not False:
            yield blocker_at(file, call, "moves-all-rows", short=short, word=word)


def _set_later(file: File, judgement: LayerJudgement) -> Iterator[Blocker]:
    """Block where an attribute of an optimizer gets what its argument must not be, as by `adam.use_ema = True`."""
    for node, owner, word in _attributes_set(file):
        made = [one for one in flow_of(file).values(owner) if isinstance(one, Result)]
        names = [name.rpartition(".")[2] for one in made if _is_optimizer(name := symbol_of(one) or "")]
        if isinstance(owner, cst.Attribute) and owner.attr.value == "optimizer":
            names += judgement.optimizers  # `model.optimizer`, of whatever model
        short = next((one for one in names if word in OPTIMIZERS.get(one.lower(), ())), None)
        if short is not None:
            yield blocker_at(file, node, "moves-all-rows", short=short, word=word)


def _attributes_set(file: File) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression, str]]:
    """Yield each place that switches on what an optimizer must not do, with the object and the attribute."""
    for word in sorted(set().union(*OPTIMIZERS.values())):
        for node in file.tree.attributes.get(word, ()):
            value = assigned_value(file.tree, node)
            if is_target(file.tree, node) and (value is None or literal(value) not in (None, False)):
                yield node, node.value, word
    for call in file.tree.calls:
        if isinstance(call.func, cst.Name) and call.func.value == "setattr" and len(call.args) == 3:
            yield call, call.args[0].value, string(call.args[1].value) or ""


def _storing(file: File) -> Iterator[Blocker]:
    """Block where the model is saved, or its weights are passed on, in a form without rows of tables."""
    for call in file.tree.calls:
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        short = method or (call.func.value if isinstance(call.func, cst.Name) else "")
        for arg in call.args:
            of_format = arg.keyword is not None and arg.keyword.value == "save_format"
            if (
                short in STORES
                and not _has_weights_alone(call)
                and any(text in FORMATS if of_format else _is_h5(text) for text in texts_of(file, arg.value))
            ):
                yield blocker_at(file, call, "stored-as-h5")
        copies = method in {"get_weights", "set_weights"}
        if copies and not are_layers(file, cst.ensure_type(call.func, cst.Attribute).value, KERAS_READERS):
            yield blocker_at(file, call, "copied")
        if file.names.of(call.func) in {"keras.models.clone_model", "keras.estimator.model_to_estimator"}:
            yield blocker_at(file, call, "copied")


def _loaded(file: File) -> Iterator[Blocker]:
    """Block where a model is loaded, which may be trained, or converted for TensorFlow Lite."""
    for call, name in file.names.calls:
        if name in LOADERS:
            yield blocker_at(file, call, "loaded-model")
        if name.startswith("lite.TFLiteConverter."):
            yield blocker_at(file, call, "lite")


def _has_weights_alone(call: cst.Call) -> bool:
    """True for `ModelCheckpoint(path, save_weights_only=True)`."""
    given = (arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == "save_weights_only")
    return any(literal(value) is True for value in given)


def _is_h5(text: str) -> bool:
    return text.endswith((".h5", ".hdf5")) and not text.endswith(".weights.h5")


def texts_of(file: File, node: cst.BaseExpression) -> Iterator[str]:
    """Yield the strings of which a path is composed."""
    pieces = m.SimpleString() | m.Name() | m.Attribute()
    for one in reached(node, lambda one: [*m.findall(one, pieces), *makers(file, one)]):  # type: ignore[list-item]
        yield from (part.value for part in m.findall(one, m.FormattedStringText()))  # type: ignore[attr-defined]
        yield string(one) or ""
