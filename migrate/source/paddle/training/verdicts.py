"""Interprets the methods of a trainer in the order of their calls, and records what cannot be converted."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from migrate.source.paddle.interpreter.interpreter import Interpreter
from migrate.source.paddle.interpreter.lasting_state import Lasting
from migrate.source.paddle.interpreter.run import Frame
from migrate.source.paddle.mapping.values import Class, Config, Module, Stop, Value
from migrate.source.paddle.training.follower import Follower
from migrate.source.paddle.training.optimizer import Optimizer, optimizer_of
from migrate.source.paddle.training.values import BATCH, METRICS, MODEL, Computed, Fed, LossCall, Output

CREATE_MODEL, CREATE_OPTIMIZER = "create_model", "create_optimizer"
TRAIN, INFER = "train_forward", "infer_forward"
INPUT = "input"


@dataclass
class Driver:
    """A trainer and its model."""

    run: Interpreter
    module: Module
    cls: Class
    model: Class | None
    config: Config
    kept: dict[str, Value] = field(default_factory=dict)

    def follow(self, name: str, arguments: Sequence[Value], outputs: Value = None) -> tuple[Follower, Value, ast.AST]:
        """Interpret a method; unsupported constructs are recorded as problems."""
        at = Follower(self.run, self.cls, self.model, outputs, name in {TRAIN, INFER}, self.kept)
        at.lasting = self._lasting(name)
        function = at.method(name)
        if function is None:
            return at, None, self.cls.node
        self.run.frames.append(Frame(self.module, self.cls.name))
        try:
            return at, at.call(function, list(arguments), {}), function.node
        except Stop:
            return at, Computed(), function.node
        finally:
            self.run.frames.pop()

    def _lasting(self, name: str) -> Lasting:
        """Return the lists and dicts that exist before a method runs, whose changes later calls would see."""
        lasting = Lasting(where=f"`{name}`")
        lasting.begin([self.module, *self.run.modules.values()], [])
        lasting.keep(self.config.values)
        if name in {TRAIN, INFER}:
            lasting.keep(self.kept)
        return lasting

    def has(self, name: str) -> bool:
        """Return whether the trainer has a method."""
        return self.cls.find(name) is not None

    def problem(self, node: ast.AST, message: str) -> None:
        """Record a problem in the trainer's file."""
        self.run.frames.append(Frame(self.module, self.cls.name))
        self.run.problem(node, message)
        self.run.frames.pop()


@dataclass(frozen=True)
class Step:
    """The arguments that `train_forward` passes to the loss."""

    outputs: dict[str, int | list[int]]  #: parameter of `create_loss` -> output of the model, or all of them
    labels: dict[str, int]  #: parameter of `create_loss` -> item of the batch
    spelled: dict[str, str]  #: parameter of `create_loss` -> source text of its argument
    input: int | None  #: the item of the batch that is the model's input
    whole: frozenset[str]  #: parameters of `create_loss` whose argument is a label cast to integers
    node: ast.AST  #: the call of `create_loss`


def driver(run: Interpreter, module: Module, cls: Class, model: Class | None, config: Config) -> Driver:
    """Check the class of a trainer, interpret its constructor, and return the trainer."""
    made = Driver(run, module, cls, model, config)
    for base in cls.node.bases:
        known = isinstance(base, ast.Name) and (base.id == "object" or isinstance(module.names.get(base.id), Class))
        if not known:
            made.problem(base, "the trainer's base class is not in its file, so its effect is unknown; define it there")
    for item in cls.node.body:
        plain = isinstance(item, ast.FunctionDef | ast.Assign | ast.AnnAssign | ast.Pass)
        if not plain and not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)):
            made.problem(item, "only methods and constants are supported in the class of the trainer")
        if isinstance(item, ast.Assign) and not isinstance(item.value, ast.Constant):
            names = {target.id for target in item.targets if isinstance(target, ast.Name)}
            if names & {CREATE_MODEL, CREATE_OPTIMIZER, TRAIN, INFER, "create_feeds", "create_loss"}:
                made.problem(item, "this method of the trainer is assigned; define it with `def`")
    made.follow("__init__", [])
    return made


def judge_model(at: Driver) -> dict[str, Value] | None:
    """Interpret `create_model` and return the arguments of the model class; None if it creates no model."""
    if not at.has(CREATE_MODEL):
        return None
    follower, found, node = at.follow(CREATE_MODEL, [at.config])
    if found is not MODEL and not at.run.problems:
        follower.run.frames.append(Frame(at.module, f"{at.cls.name}.{CREATE_MODEL}"))
        follower.blame(found, node, "`create_model` must return the unchanged model")
        follower.run.frames.pop()
    return follower.made[0][0] if follower.made else None


def judge_optimizer(at: Driver) -> Optimizer | None:
    """Interpret `create_optimizer` and return its optimizer."""
    if not at.has(CREATE_OPTIMIZER):
        return None
    _, found, node = at.follow(CREATE_OPTIMIZER, [MODEL, at.config])
    return optimizer_of(at.module, found, node)


def judge_step(at: Driver, count: int, is_list: bool, size: int) -> Step | None:
    """Interpret `train_forward` and `infer_forward`; None if `train_forward` is missing or not supported.

    Args:
        at: the trainer.
        count: number of outputs of the model.
        is_list: whether the model returns a list of outputs.
        size: number of columns of the model's input.
    """
    outputs = [Output(i) for i in range(count)] if is_list else Output(0)
    arguments = [MODEL, METRICS, BATCH, at.config]
    if at.has(INFER):
        follower, _, _ = at.follow(INFER, arguments, outputs)
        _input(at, follower, size)
    if not at.has(TRAIN):
        return None
    before = len(at.run.problems)
    follower, found, node = at.follow(TRAIN, arguments, outputs)
    item = _input(at, follower, size)
    made = found[0] if isinstance(found, list | tuple) and found else found
    call = next((call for call in follower.losses if call.made is made), None)
    if call is None:
        if len(at.run.problems) == before:
            _blame(at, follower, made, node)
        call = follower.losses[0] if follower.losses else None
    return _step(at, follower, call, item) if call else None


def _blame(at: Driver, follower: Follower, made: Value, node: ast.AST) -> None:
    what = "is not what `create_loss` returns" if follower.losses else "does not come from `create_loss`"
    message = f"the loss of `{TRAIN}` {what}; move this into `create_loss`, the only function that is converted"
    at.run.frames.append(Frame(at.module, f"{at.cls.name}.{TRAIN}"))
    follower.blame(made, node, message)
    at.run.frames.pop()


def _input(at: Driver, follower: Follower, size: int) -> int | None:
    """Return the item of the batch that is the model's input; record a problem if it is not one unchanged item."""
    places = []
    for value, node in follower.fed:
        at.run.frames.append(Frame(at.module, at.cls.name))
        if not isinstance(value, Fed):
            message = (
                "the model's input is computed from the batch here, which is not converted; move this into the model"
            )
            follower.blame(value, node, message)
        elif value.whole:
            at.run.problem(node, "the model's input is cast to integers, which is not converted")
        elif value.width not in (None, size):
            at.run.problem(
                node, f"the model's input has {value.width} columns, but `input.size` is {size}; correct one of the two"
            )
        at.run.frames.pop()
        places += [item.index for item in _items(value)]
    if len(set(places)) > 1:
        at.problem(follower.fed[1][1], "the model is called with several items of the batch; use one")
    return places[0] if places else None


def _items(value: Value) -> list[Fed]:
    if isinstance(value, Fed):
        return [value]
    origins = value.origins if isinstance(value, Computed) else ()
    return [item for item in origins if isinstance(item, Fed)]


def _step(at: Driver, follower: Follower, call: LossCall, item: int | None) -> Step:
    outputs: dict[str, int | list[int]] = {}
    labels: dict[str, int] = {}
    for name, value in call.arguments.items():
        if isinstance(value, Output):
            outputs[name] = value.index
        elif isinstance(value, list | tuple) and value and all(isinstance(part, Output) for part in value):
            outputs[name] = [part.index for part in value]
        elif not isinstance(value, Fed) or value.index == item:
            at.run.frames.append(Frame(at.module, f"{at.cls.name}.{TRAIN}"))
            told = "the loss must be called with unchanged outputs and labels"
            follower.blame(value, call.node, told)
            at.run.frames.pop()
        elif value.width not in (None, 1):
            at.problem(
                call.node, f"the loss is called with a label of {value.width} columns; each label must be one column"
            )
        places = [fed.index for fed in _items(value) if fed.index != item]
        labels |= {name: places[0]} if places else {}
    whole = frozenset(name for name, value in call.arguments.items() if isinstance(value, Fed) and value.whole)
    return Step(outputs, labels, call.spelled, item, whole, call.node)
