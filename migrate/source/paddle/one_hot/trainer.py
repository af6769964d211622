"""Executes the methods of a model's trainer: what the model is made with and fed, what the loss gets, the optimizer."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from migrate.errors import MigrateError
from migrate.schema import Schema
from migrate.source.paddle.abstract.layers import named_layers
from migrate.source.paddle.abstract.modules import load
from migrate.source.paddle.abstract.program import CLASS, settings, trainer_class
from migrate.source.paddle.abstract.run import Frame
from migrate.source.paddle.abstract.values import Class, Function, Instance, Module, Refuse, Stop, Value
from migrate.source.paddle.model_files import TRAINER
from migrate.source.paddle.one_hot import feeds
from migrate.source.paddle.one_hot.feeds import Fed, items_in
from migrate.source.paddle.one_hot.optimizer import Optimizer, is_plain, optimizer_of
from migrate.source.paddle.one_hot.watched import LossCall, Watched

CREATE_MODEL, CREATE_OPTIMIZER, CREATE_LOSS = "create_model", "create_optimizer", "create_loss"
TRAIN, INFER = "train_forward", "infer_forward"
_OWN = frozenset({CREATE_MODEL, CREATE_OPTIMIZER, CREATE_LOSS, TRAIN, INFER, "create_feeds"})


@dataclass
class Driver:
    """A trainer and its model."""

    run: Watched
    module: Module
    cls: Class
    config: dict[str, Value]
    trainer: Value = None
    metrics: Value = None

    def method(self, name: str) -> Function | None:
        """Return a method of the trainer, or None."""
        found = self.cls.find(name)
        return None if found is None else Function(found[0], found[1].module, found[1], self.trainer)

    def follow(self, name: str, arguments: Sequence[Value]) -> Value:
        """Execute a method; unsupported constructs are recorded as problems, and None is returned."""
        function, run = self.method(name), self.run
        if function is None:
            return None
        run.frames.append(Frame(self.module, self.cls.name))
        depth = len(run.frames)
        run.following = True
        kept = [*run.modules.values(), *run.made, run.model, self.trainer, self.metrics, self.config]
        run.lasting.begin([*kept, *run.defaults.values()])
        try:
            return run.call_function(function, list(arguments), {})
        except Refuse as reason:
            run.problem(function.node, str(reason))
            return None
        except Stop:
            return None
        finally:
            run.following = False
            del run.frames[depth - 1 :]

    def problem(self, node: ast.AST, message: str) -> None:
        """Record a problem in the trainer's file."""
        self.run.problem_in(self.module, node, message)


@dataclass(frozen=True)
class Step:
    """The arguments that `train_forward` passes to the loss."""

    outputs: dict[str, int | list[int]]  #: parameter of `create_loss` -> output of the model, or all of them
    labels: dict[str, int]  #: parameter of `create_loss` -> item of the batch
    spelled: dict[str, str]  #: parameter of `create_loss` -> source text of its argument
    input: int | None  #: the item of the batch that is the model's input
    whole: frozenset[str]  #: parameters of `create_loss` whose argument is a label cast to integers
    node: ast.AST  #: the call of `create_loss`


def trainer_of(run: Watched, model: Class, siblings: Mapping[str, str]) -> Driver | None:
    """Execute the trainer's file and make the trainer; None if there is no trainer or it has no class.

    Raises:
        MigrateError: the trainer or its configuration cannot be parsed.
    """
    if TRAINER not in siblings:
        return None
    run.model_class, run.following = model, True
    try:
        module = load(run, TRAINER, siblings[TRAINER])
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        place = f"line {line} " if line else ""
        raise MigrateError(f"{TRAINER}: {place}is not valid Python ({error}); correct it") from error
    finally:
        run.following = False
    cls = trainer_class(module, CLASS, (CREATE_LOSS, CREATE_MODEL, TRAIN), least=1)
    if cls is None:
        return None
    found = cls.find(CREATE_LOSS)
    run.loss_node = found[0] if found else None
    made = Driver(run, module, cls, settings(siblings))
    _check_class(made)
    made.trainer = Instance(module.path, module.span(cls.node), cls=cls)
    made.follow("__init__", [])
    listed = made.follow("create_metrics", [])
    made.metrics = listed[0] if isinstance(listed, tuple) else listed
    return made


def _check_class(at: Driver) -> None:
    for base in at.cls.node.bases:
        known = isinstance(base, ast.Name) and (base.id == "object" or isinstance(at.module.names.get(base.id), Class))
        if not known:
            at.problem(base, "the trainer's base class is not in its file, so its effect is unknown; define it there")
    for item in at.cls.node.body:
        plain = isinstance(item, ast.FunctionDef | ast.Assign | ast.AnnAssign | ast.Pass)
        if not plain and not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)):
            at.problem(item, "only methods and constants are supported in the class of the trainer")
        if isinstance(item, ast.Assign) and not isinstance(item.value, ast.Constant):
            names = {target.id for target in item.targets if isinstance(target, ast.Name)}
            if names & _OWN:
                at.problem(item, "this method of the trainer is assigned; define it with `def`")


def constructor_arguments(cls: Class, siblings: Mapping[str, str]) -> dict[str, Value] | None:
    """Return the arguments that `create_model` passes to the model class, as far as they are known."""
    if "config.yaml" not in siblings or TRAINER not in siblings:
        return None
    run = Watched(files=siblings)
    run.modules["net"] = cls.module
    made = None
    with contextlib.suppress(Stop):
        run.frames.append(Frame(cls.module, ""))
        at = trainer_of(run, cls, siblings)
        made = judge_model(at) if at else None
    return None if made is None else {name: value for name, value in made.items() if _known(value)}


def overridden(given: Mapping[str, Value], made: Mapping[str, Value] | None) -> list[str]:
    """Return a note for each argument that differs between the schema, which is used, and `create_model`."""
    return [
        f"{name}={given[name]!r} is taken from the schema, although create_model of {TRAINER} gives {value!r}"
        for name, value in (made or {}).items()
        if name in given and _known(value) and _listed(value) != _listed(given[name])
    ]


def _known(value: Value) -> bool:
    return value is not None and is_plain(value)


def _listed(value: Value) -> Value:
    return [_listed(item) for item in value] if isinstance(value, list | tuple) else value


def judge_model(at: Driver) -> dict[str, Value] | None:
    """Execute `create_model` and return the arguments of the model class; None if it creates no model."""
    if at.method(CREATE_MODEL) is None:
        return None
    before = len(at.run.problems)
    found = at.follow(CREATE_MODEL, [at.config])
    if found is not at.run.model and len(at.run.problems) == before:
        function = at.method(CREATE_MODEL)
        assert function is not None
        at.run.blame(found, at.module, function.node, "`create_model` must return the unchanged model")
    return at.run.made_with[0] if at.run.made_with else None


def judge_optimizer(at: Driver) -> Optimizer | None:
    """Execute `create_optimizer` and return its optimizer."""
    function = at.method(CREATE_OPTIMIZER)
    if function is None:
        return None
    found = at.follow(CREATE_OPTIMIZER, [at.run.model, at.config])
    model = at.run.model
    assert model is not None
    weights = [weight for _, layer in named_layers(model) for weight in layer.weights.values()]
    return optimizer_of(at.module, at.run.optimizers.get(id(found)), weights, function.node)


def judge_step(at: Driver, schema: Schema) -> Step | None:
    """Execute `train_forward` and `infer_forward`; None if `train_forward` is missing or not supported."""
    run = at.run
    for name in (INFER, TRAIN):
        if at.method(name) is None:
            continue
        run.inputs, run.losses = [], []
        before = len(run.problems)
        given = [run.model, at.metrics, feeds.batch(len(schema.labels)), at.config]
        found = at.follow(name, given)
        item = _input(at, schema.input.size)
    function = at.method(TRAIN)
    if function is None:
        return None
    made = found[0] if isinstance(found, list | tuple) and found else found
    call = next((call for call in run.losses if call.made is made), None)
    if call is None:
        if len(run.problems) == before:
            what = "is not what `create_loss` returns" if run.losses else "does not come from `create_loss`"
            message = f"the loss of `{TRAIN}` {what}; move this into `create_loss`, the only function that is converted"
            run.blame(made, at.module, function.node, message)
        call = run.losses[0] if run.losses else None
    return _step(at, call, item) if call else None


def _input(at: Driver, size: int) -> int | None:
    """Return the item of the batch that is the model's input; record a problem if it is not one unchanged item."""
    places = []
    for value, module, node in at.run.inputs:
        if not isinstance(value, Fed):
            told = "the model's input is computed from the batch here, which is not converted; move this into the model"
            at.run.blame(value, module, node, told)
        elif value.whole:
            at.run.problem_in(module, node, "the model's input is cast to integers, which is not converted")
        elif value.width not in (None, size):
            told = f"the model's input has {value.width} columns, but `input.size` is {size}; correct one of the two"
            at.run.problem_in(module, node, told)
        places += [fed.index for fed in items_in(value)]
    if len(set(places)) > 1:
        _, module, node = at.run.inputs[1]
        at.run.problem_in(module, node, "the model is called with several items of the batch; use one")
    return places[0] if places else None


def _step(at: Driver, call: LossCall, item: int | None) -> Step:
    outputs: dict[str, int | list[int]] = {}
    labels: dict[str, int] = {}
    known = at.run.outputs
    for name, value in call.arguments.items():
        if id(value) in known:
            outputs[name] = known[id(value)][1]
        elif isinstance(value, list | tuple) and value and all(id(part) in known for part in value):
            outputs[name] = [known[id(part)][1] for part in value]
        elif not isinstance(value, Fed) or value.index == item:
            at.run.blame(value, at.module, call.node, "the loss must be called with unchanged outputs and labels")
        elif value.width not in (None, 1):
            told = f"the loss is called with a label of {value.width} columns; each label must be one column"
            at.problem(call.node, told)
        places = [fed.index for fed in items_in(value) if fed.index != item]
        labels |= {name: places[0]} if places and id(value) not in known else {}
    whole = frozenset(name for name, value in call.arguments.items() if isinstance(value, Fed) and value.whole)
    return Step(outputs, labels, call.spelled, item, whole, call.node)
