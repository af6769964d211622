"""Executes a model's trainer: makes the model, takes one batch, and goes through training and evaluation."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

import yaml

from migrate.errors import MigrateError
from migrate.source.paddle.abstract.data_files import DataFiles
from migrate.source.paddle.abstract.host.metrics import is_metric
from migrate.source.paddle.abstract.layers import set_training
from migrate.source.paddle.abstract.machine import Machine
from migrate.source.paddle.abstract.modules import load
from migrate.source.paddle.abstract.run import Frame, Problem
from migrate.source.paddle.abstract.values import Class, Function, Instance, Module, Refuse, Stop, Tensor, Value, mapped
from migrate.source.paddle.model_files import STATIC, TRAINER
from migrate.source.paddle.ops.registry import LAYER

_MOST_SETTINGS = 10_000
CONFIG = "config.yaml"
CLASS = "DygraphModel"  #: the class that PaddleRec instantiates
_METHODS = ("create_model", "train_forward")


@dataclass
class Program:
    """A trainer after its execution."""

    run: Machine
    module: Module
    path: str = TRAINER  #: the trainer's file
    trainer: Instance | None = None
    model: Value = None
    optimizer: Value = None
    metrics: Value = None
    beside: Program | None = None  #: the static model whose files are rewritten with the trainer's
    apart: str = ""  #: why the static model beside the trainer is not
    instead_of: Program | None = None  #: the trainer that has problems, beside a static model that has none
    lookups: list[Value] = field(default_factory=list)  #: of tables, in a static model
    results: dict[str, Value] = field(default_factory=dict)  #: method -> what it returned
    complete: bool = False  #: whether all was executed
    evaluation: list[Problem] = field(default_factory=list)  #: why evaluation is not converted

    def method(self, name: str) -> Function | None:
        """Return a method of the trainer, or None."""
        assert self.trainer is not None
        return self.trainer.cls.method(name, self.trainer)

    def call(self, name: str, *arguments: Value) -> Value:
        """Execute a method of the trainer, if it has one, and record what it returns.

        Raises:
            Stop: the method is refused; the run has the problem.
        """
        function = self.method(name)
        if function is None:
            return None
        try:
            self.results[name] = self.run.call_function(function, list(arguments), {})
        except Refuse as reason:
            self.run.problem(function.node, str(reason))
            raise Stop from None
        return self.results[name]

    def follow(self, steps: Callable[[], None]) -> None:
        """Execute the trainer by these steps, as far as they come."""
        self.run.frames.append(Frame(self.module, ""))
        with contextlib.suppress(Stop):
            steps()
        self.run.frames.clear()
        self.complete = self.complete and not self.run.problems


def execute(files: Mapping[str, str], batch: Value, data: DataFiles | None = None) -> Program:
    """Execute the trainer of a model's folder with one batch.

    Args:
        files: the folder's Python and YAML files, name -> text.
        batch: the items of a batch, as the reader gives them (`readers.batch_of`).
        data: the files that the trainer may read.

    Raises:
        SyntaxError: a file is not Python.
        MigrateError: config.yaml cannot be read.
    """
    run, config = Machine(files=files, data=data), settings(files)
    program = Program(run, load(run, TRAINER, files[TRAINER]))
    cls = trainer_class(program.module)
    if cls is None:
        raise MigrateError(f"{TRAINER}: has no class with `create_model` and `train_forward`; add one")
    program.follow(lambda: go_through(program, cls, config, batch))
    return program


def go_through(program: Program, cls: Class, config: dict[str, Value], batch: Value) -> None:
    """Execute a trainer's methods: the model, the optimizer and the metrics are made, then come training, evaluation.

    Raises:
        Stop: one of them could not be executed.
    """
    run = program.run
    trainer = run.call(cls.node, cls, [], {})
    program.trainer = trainer

    method = program.call
    program.model = method("create_model", config)
    program.optimizer = method("create_optimizer", program.model, config)
    _check_optimizer(program)
    metrics = method("create_metrics")
    program.metrics = metrics[0] if isinstance(metrics, tuple) else metrics

    def forward(name: str, training: bool) -> None:
        for layer in run.layers:
            set_training(layer, training)
        before = [*run.modules.values(), *run.layers, trainer, config]
        before += [program.model, program.optimizer, program.metrics]
        run.lasting.begin([*before, *run.defaults.values()])
        with contextlib.suppress(Stop):
            # What one pass changes in place, the next gets anew.
            items = mapped(lambda item: replace(item, fed=True) if isinstance(item, Tensor) else item, batch)
            method(name, program.model, program.metrics, items, config)

    forward("train_forward", True)
    program.complete = "train_forward" in program.results
    _measure(program)
    if not run.problems:
        trained = run.recorded()
        forward("infer_forward", False)
        if run.problems:  # evaluation may want another batch; training is converted alone
            program.evaluation = list(run.problems.values())
            run.restore(trained)


def _check_optimizer(program: Program) -> None:
    """Refuse an optimizer of the program's own, whose steps are Python."""
    returned = program.optimizer
    for optimizer in returned if isinstance(returned, (list, tuple)) else [returned]:
        definition = optimizer.cls.find("step") if isinstance(optimizer, Instance) else None
        if definition is not None:
            reason = "takes its steps in Python; a graph needs one of `paddle.optimizer`, or convert this class by hand"
            program.run.frames.append(Frame(definition[1].module, optimizer.cls.name))
            program.run.problem(definition[0], f"the optimizer `{optimizer.cls.name}` {reason}")
            program.run.frames.pop()


def _measure(program: Program) -> None:
    """Execute what training calls of the metrics after its steps."""
    run, held = program.run, program.metrics
    for metric in held if isinstance(held, (list, tuple)) else ():
        for name in ("accumulate", "reset") if is_metric(metric) else ():
            if (method := metric.cls.method(name, metric)) is not None:
                with contextlib.suppress(Stop):
                    run.call(method.node, method, [], {})


def trainer_class(
    module: Module, name: str = CLASS, methods: Collection[str] = _METHODS, least: int = 0
) -> Class | None:
    """Return the class that PaddleRec makes, by its name, or else the first that is no layer and has its methods.

    Args:
        module: the file.
        name: of the class.
        methods: those that tell one of another name.
        least: how many of them it has at least; 0: all.
    """
    values = [value for value in module.names.values() if isinstance(value, Class) and not value.derives(LAYER)]
    named = [cls for cls in values if cls.name == name]
    others = [cls for cls in values if sum(cls.find(one) is not None for one in methods) >= (least or len(methods))]
    return next(iter([*named, *others]), None)


def trainer_of(files: Collection[str]) -> str:
    """Return which file of a folder is converted as its trainer: the one of dynamic graphs if there is one."""
    return STATIC if STATIC in files and TRAINER not in files else TRAINER


def settings(files: Mapping[str, str]) -> dict[str, Value]:
    """Return the settings of the configuration by their dotted names; raises MigrateError if it is not valid YAML."""
    return _flat(files, configuration(files))


def configuration(files: Mapping[str, str]) -> str:
    """Return the name of the configuration: config.yaml, or the first `config*.yaml` that names training data."""
    others = sorted(name for name in files if name.startswith("config") and name.endswith(".yaml"))
    if CONFIG in files or not others:
        return CONFIG
    return next((name for name in others if _flat(files, name).get("runner.train_data_dir")), others[0])


def _flat(files: Mapping[str, str], name: str) -> dict[str, Value]:
    try:
        return flatten(yaml.safe_load(files.get(name, "")))
    except yaml.YAMLError as error:
        raise MigrateError(f"{name}: is not valid YAML ({str(error).splitlines()[0]}); correct it") from error
    except (RecursionError, OverflowError) as error:
        raise MigrateError(f"{name}: has too many settings, or one within itself; correct it") from error


def flatten(value: Value, prefix: str = "") -> dict[str, Value]:
    """Return nested settings by their dotted names; a group has no name of its own, as in PaddleRec.

    Raises:
        OverflowError, RecursionError: there are too many, or one is within itself.
    """
    flat: dict[str, Value] = {}
    for key, item in value.items() if isinstance(value, dict) else ():
        flat |= flatten(item, f"{prefix}{key}.") if isinstance(item, dict) else {f"{prefix}{key}": item}
        if len(flat) > _MOST_SETTINGS:
            raise OverflowError("aliases of YAML multiply them")
    return flat
