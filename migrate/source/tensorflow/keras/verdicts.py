"""Verdicts on the `Embedding` layers of a file, by how the model is trained, saved and run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.flow import Result, Value
from migrate.source.settings.options import Assume
from migrate.source.tensorflow.base.arguments import argument, by_keyword, is_none, literal, method_of, number, string
from migrate.source.tensorflow.base.bindings import assigned_value
from migrate.source.tensorflow.base.common_refusals import or_in_others
from migrate.source.tensorflow.base.findings import of_line
from migrate.source.tensorflow.base.model import Blocker, blocker, parted
from migrate.source.tensorflow.base.other_sdks import of_other_sdk
from migrate.source.tensorflow.base.rule_kinds import File, cached_list
from migrate.source.tensorflow.base.user_choice import keep, quiet
from migrate.source.tensorflow.base.value_flow import flow_of, partials, results, symbol_of
from migrate.source.tensorflow.facts.calls.execution_count import exclusive
from migrate.source.tensorflow.facts.variables.keras_layers import RULE, Layer, find_layers
from migrate.source.tensorflow.keras.given_up_buckets import columns_of, give_up_buckets
from migrate.source.tensorflow.keras.layer_uses import blocker_at, check_matrix, check_places, use_blockers
from migrate.source.tensorflow.keras.surroundings import around_layers, in_files, is_foreign

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

_LOOPS = (cst.For, cst.While, cst.CompFor, cst.ListComp, cst.GeneratorExp, cst.DictComp)


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
    home: File, assume: Assume, file: File | None = None, own: Collection[str] | None = None
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
        *around_layers(file),
        *_training(file, home, judgement),
        *in_files(file, judgement.layers),
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
        _lift(judgement, assume)
    if file.unbucket:
        give_up_buckets(file, {home.tree.path} if own is None else own, judgement.moving)
    return judgement


def _lift(judgement: LayerJudgement, assume: Assume) -> None:
    """Take away the doubts that `--assume` lifts; where it names layers, those about all stay with the others."""
    judgement.file_blockers, judgement.assumed = parted(judgement.file_blockers, assume)
    names = [(layer.name or "", layer.label) for layer in judgement.layers]
    apart = isinstance(assume, tuple) and any(not {*assume}.isdisjoint(known) for known in names)
    shared = [one for one in judgement.file_blockers if one.assumption] if apart else []
    judgement.file_blockers = [one for one in judgement.file_blockers if one not in shared]
    for layer, known in zip(judgement.layers, names, strict=True):
        layer.blockers[:], doubts = parted([*layer.blockers, *shared], assume, *known)
        judgement.assumed += [one for one in doubts if one not in judgement.assumed]


def _training(file: File, home: File, judgement: LayerJudgement) -> Iterator[Blocker]:
    """Block on each optimizer that cannot train a table, and where no optimizer is known."""
    seen = False
    for call, optimizer, names in _of_optimizers(file):
        seen = True
        if optimizer is not None:
            yield from _named_or_bound(file, optimizer.value, judgement)
        for name in names:
            if _is_of_sessions(name):
                yield blocker_at(file, call, "unknown-optimizer")
            if _is_optimizer(name):
                yield from _made(file, call, name, judgement)
    yield from _set_later(file, judgement)
    if not seen:
        yield blocker(home.tree.module, RULE, "no-optimizer", others=or_in_others(file.files))


@cached_list
def _of_optimizers(file: File) -> Iterator[tuple[cst.Call, cst.Arg | None, list[str]]]:
    """Yield the calls that are given the optimizer of a model, or make one by one of these names."""
    for call in file.tree.calls:
        optimizer = _compiled_with(call)
        if optimizer is not None and is_foreign(file, call):
            optimizer = None
        names = [name for name in sorted(_called(file, call)) if _is_of_sessions(name) or _is_optimizer(name)]
        if optimizer is not None or names:
            yield call, optimizer, names


def _is_of_sessions(name: str) -> bool:
    return name.startswith("train.") and name.endswith("Optimizer")


def _called(file: File, call: cst.Call) -> set[str]:
    """Return the symbols of the framework that a call may be of, by whatever name it goes."""
    spelled = file.names.of(call.func)
    followed = [symbol_of(value) for value in results(file, call)] if spelled is None else [spelled]
    return {name for name in followed if name is not None}


def _compiled_with(call: cst.Call) -> cst.Arg | None:
    """Return the optimizer of `model.compile(...)`; None for other calls."""
    if method_of(call) != "compile" or not call.args:
        return None
    first, text = call.args[0], (string(call.args[0].value) or "").lower()
    plain = first.keyword is None and (text in KNOWN_OR_NOT or (not first.star and string(first.value) is None))
    return by_keyword(call, "optimizer") or (first if plain else None)


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
    optimizers = {one for one in values if isinstance(one, Result) and _is_optimizer(symbol_of(one) or "")}
    if any(string(value.node) is None and value not in optimizers for value in values):
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
    for position, arg in enumerate(call.args):
        word = arg.keyword.value if arg.keyword else PLACED.get((short.lower(), position), "")
        if word in OPTIMIZERS[short.lower()] and not is_none(arg) and literal(arg.value) is not False:
            yield blocker_at(file, call, "moves-all-rows", short=short, word=word)


def _set_later(file: File, judgement: LayerJudgement) -> Iterator[Blocker]:
    """Block where an attribute of an optimizer gets what its argument must not be, as by `adam.use_ema = True`."""
    for node, owner, word in _attributes_set(file):
        results = [one for one in flow_of(file).values(owner) if isinstance(one, Result)]
        names = [name.rpartition(".")[2] for one in results if _is_optimizer(name := symbol_of(one) or "")]
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
            if file.tree.is_target(node) and (value is None or literal(value) not in (None, False)):
                yield node, node.value, word
    for call in file.tree.calls:
        if isinstance(call.func, cst.Name) and call.func.value == "setattr" and len(call.args) == 3:
            yield call, call.args[0].value, string(call.args[1].value) or ""


def has_state(name: str, call: cst.Call | None) -> bool:
    """True for all optimizers but SGD without momentum."""
    if name.lower() != "sgd":
        return True
    if call is None:
        return False
    momentum = argument(call, "momentum", 1)
    return any(arg.star for arg in call.args) or (momentum is not None and number(momentum.value) != 0)


def several(file: File, makers: list[cst.CSTNode], layers: list[Layer]) -> Iterator[Blocker]:
    """Block a second optimizer with slots, or one that may be created again for the same layer.

    A table has one set of slots, a variable one for each optimizer.
    """
    again = [(node, " each time it runs") for node in makers if _repeats(file, node, layers)]
    second = [
        (node, _than(file, node, other)) for node, other in _pairs(file, makers) if not exclusive(file, node, other)
    ]
    for node, than in second[:1] or again[:1]:
        yield blocker_at(file, node, "other-optimizer", than=than)


def _pairs(file: File, nodes: Sequence[cst.CSTNode]) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """Yield each node with each before it that one program may run, too."""
    return ((node, other) for i, node in enumerate(nodes) for other in nodes[:i] if file.tree.related(node, other))


def _than(file: File, node: cst.CSTNode, other: cst.CSTNode) -> str:
    if other is node:  # reached on several ways
        return " each time it runs"
    line = of_line(file.tree.location(other), file.tree.location(node))
    return f" than `{file.tree.excerpt(other)}`{line}"


def _repeats(file: File, node: cst.CSTNode, layers: list[Layer]) -> bool:
    for around in file.tree.ancestors(node):
        repeated = isinstance(around, _LOOPS) or (
            isinstance(around, cst.FunctionDef) and _called_again(file, around.name.value)
        )
        if repeated and any(not file.tree.contains(around, layer.call) for layer in layers):
            return True
    return False


def _called_again(file: File, name: str) -> bool:
    around = ((use, file.tree.parent(use)) for use in file.tree.names.get(name, ()))
    calls = [call for use, call in around if isinstance(call, cst.Call) and call.func is use]
    return any(_pairs(file, calls)) or any(isinstance(a, _LOOPS) for call in calls for a in file.tree.ancestors(call))
