"""Executes a model by its schema: the machine goes through its trainer with a batch of the schema's input and labels.

Of a trainer, the module gets the loss alone. So what it does besides is a problem, and the loss and the model must get
outputs and items of the batch as they are.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from migrate.errors import MigrateError
from migrate.schema import Schema
from migrate.source.paddle.abstract.layers import named_layers
from migrate.source.paddle.abstract.modules import load
from migrate.source.paddle.abstract.program import CLASS, go_through, settings, trainer_class
from migrate.source.paddle.abstract.values import (
    Class,
    Function,
    Item,
    Module,
    OneHot,
    Stop,
    Tensor,
    Unknown,
    Value,
    mentions,
)
from migrate.source.paddle.layers.items import batch, items_in
from migrate.source.paddle.model_files import TRAINER
from migrate.source.paddle.one_hot import model as models
from migrate.source.paddle.one_hot import trainer as default_trainer
from migrate.source.paddle.one_hot.program import Program
from migrate.source.paddle.one_hot.trainer import only_classes, plain_label
from migrate.source.paddle.one_hot.watched import LossCall, Watched, optimizer_of

CREATE_MODEL, CREATE_OPTIMIZER, CREATE_LOSS = "create_model", "create_optimizer", "create_loss"
TRAIN, INFER = "train_forward", "infer_forward"
_OWN = frozenset({CREATE_MODEL, CREATE_OPTIMIZER, CREATE_LOSS, TRAIN, INFER, "create_feeds"})
#: The trainer of a model that has none: all of its methods are those that the schema tells.
_NO_TRAINER = f"class {CLASS}:\n    pass\n"


def follow(path: str, text: str, schema: Schema, siblings: Mapping[str, str]) -> Program:
    """Execute the model and its trainer; the run of the program has the problems that were found.

    Raises:
        SyntaxError: `text` is not Python.
        MigrateError: schema and source contradict each other, or the trainer or its configuration cannot be parsed.
    """
    run = Watched(files=siblings, schema=schema)
    net = run.modules["net"] = load(run, Path(path).name, text)
    run.model_class = models.model_class(schema, net)
    run.following = True
    module, cls = _trainer(run, siblings)
    config = settings(siblings)
    program = _Following(run=run, module=module, schema=schema, shown=path, net=net)
    _check_class(program, cls)
    if (loss := cls.find(CREATE_LOSS)) is not None:
        run.loss_node = loss[0]
    program.follow(lambda: go_through(program, cls, config, ()))
    run.following = False
    for problem in program.evaluation:
        run.problems.setdefault((problem.path, problem.span), problem)
    return program


def _trainer(run: Watched, siblings: Mapping[str, str]) -> tuple[Module, Class]:
    """Return the trainer beside the model and its class; an empty one if there is none."""
    try:
        module = load(run, TRAINER, siblings.get(TRAINER, _NO_TRAINER))
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        place = f"line {line} " if line else ""
        raise MigrateError(f"{TRAINER}: {place}is not valid Python ({error}); correct it") from error
    cls = trainer_class(module, CLASS, (CREATE_LOSS, CREATE_MODEL, TRAIN), least=1)
    if cls is None:
        module = load(run, TRAINER, _NO_TRAINER)
        cls = module.names[CLASS]
    return module, cls


def _check_class(program: Program, cls: Class) -> None:
    def problem(node: ast.AST, message: str) -> None:
        program.run.problem_in(program.module, node, message)

    for base in cls.node.bases:
        known = isinstance(base, ast.Name) and (
            base.id == "object" or isinstance(program.module.names.get(base.id), Class)
        )
        if not known:
            problem(base, "the trainer's base class is not in its file, so its effect is unknown; define it there")
    for item in cls.node.body:
        plain = isinstance(item, (ast.FunctionDef, ast.Assign, ast.AnnAssign, ast.Pass))
        if not plain and not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)):
            problem(item, "only methods and constants are supported in the class of the trainer")
        if isinstance(item, ast.Assign) and not isinstance(item.value, ast.Constant):
            names = {target.id for target in item.targets if isinstance(target, ast.Name)}
            if names & _OWN:
                problem(item, "this method of the trainer is assigned; define it with `def`")


@dataclass(frozen=True)
class _Step:
    """What `train_forward` passes to the loss."""

    outputs: dict[str, int | list[int]]  #: parameter of `create_loss` -> output of the model, or all of them
    labels: dict[str, int]  #: parameter of `create_loss` -> item of the batch
    call: LossCall


class _Following(Program):
    """Judges each method of the trainer by what was recorded while it was executed."""

    def call(self, name: str, *arguments: Value) -> Value:
        """Execute a method, and record as problems what it does that the module does not."""
        if name == CREATE_MODEL:
            return self._made_model(*arguments)
        if name in {TRAIN, INFER}:
            return self._passed(name, arguments)
        result, function = self._result(name, *arguments), self.method(name)
        if name == CREATE_OPTIMIZER and function is not None:
            weights = [weight for _, layer in named_layers(self.model) for weight in layer.weights.values()]
            self.trained_by = optimizer_of(self.run.optimizers.get(id(result)), weights, function.node.lineno)
        return None if name == CREATE_OPTIMIZER else result

    def _result(self, name: str, *arguments: Value) -> Value:
        """Execute a method; one that comes to its end too early leaves the others as they are."""
        with contextlib.suppress(Stop):
            return super().call(name, *arguments)
        return None

    def _made_model(self, config: Value) -> Value:
        run, schema, before = self.run, self.schema, len(self.run.problems)
        result, function = self._result(CREATE_MODEL, config), self.method(CREATE_MODEL)
        self.model = run.make_model({})
        if function is not None and result is not run.model and len(run.problems) == before:
            run.blame(result, self.module, function.node, "`create_model` must return the unchanged model")
        self.overridden = [
            f"{name}={schema.model.arguments[name]!r} is taken from the schema, although create_model of {TRAINER} "
            f"gives {value!r}"
            for name, value in run.made_with.items()
            if name in schema.model.arguments
            and models.is_known(value)
            and _listed(value) != _listed(schema.model.arguments[name])
        ]
        self._run_model()
        return self.model

    def _run_model(self) -> None:
        run, schema, size = self.run, self.schema, self.schema.input.size
        check_sizes(self)
        result = run.run_model(OneHot((None, size)) if schema.input.sparse else Tensor((None, size)))
        self.written = frozenset(run.lasting.written)
        check_input_name(self)
        check_outputs(self, result)
        loss = self.method(CREATE_LOSS)
        if self.method(TRAIN) is not None and loss is not None:
            return
        self.default_text = default_trainer.text_of(schema, self.outputs, self.returns_list, loss)
        self.default = load(run, f"{schema.path}.py", self.default_text).names[CLASS]
        assert self.trainer is not None
        if loss is None:
            run.loss_node = self.loss.node
            self.trainer.attributes[CREATE_LOSS] = self.loss

    def _passed(self, name: str, arguments: tuple[Value, ...]) -> Value:
        """Execute training or evaluation with a batch of the schema."""
        run, before = self.run, len(self.run.problems)
        run.inputs, run.losses = [], []
        model, metrics, _, config = arguments
        result = self._result(name, model, metrics, batch(len(self.schema.labels)), config)
        if self.method(name) is None:
            return None
        item = self._input()
        if name == TRAIN:
            step = self._step(result, item, len(run.problems) == before)
            if step is not None:
                self.batch_input = item or 0
                self._match(step)
        return result

    def _input(self) -> int | None:
        """Return the item of the batch that is the model's input; record a problem if it is not one unchanged item."""
        run, size, places = self.run, self.schema.input.size, []
        for value, module, node in run.inputs:
            if not isinstance(value, Item):
                message = (
                    "the model's input is computed from the batch here, which is not converted; move this into the "
                )
                run.blame(value, module, node, f"{message}model")
            elif value.whole:
                run.problem_in(module, node, "the model's input is cast to integers, which is not converted")
            elif value.width not in (None, size):
                message = f"the model's input has {value.width} columns, but `input.size` is {size}"
                run.problem_in(module, node, f"{message}; correct one of the two")
            places += [fed.index for fed in items_in(value)]
        if len(set(places)) > 1:
            _, module, node = run.inputs[1]
            run.problem_in(module, node, "the model is called with several items of the batch; use one")
        return places[0] if places else None

    def _step(self, result: Value, item: int | None, is_plain: bool) -> _Step | None:
        """Return what the loss that training returns was called with."""
        run, function = self.run, self.method(TRAIN)
        assert function is not None
        loss = result[0] if isinstance(result, (list, tuple)) and result else result
        call = next((call for call in run.losses if call.result is loss), None)
        if call is None:
            if is_plain:
                what = "is not what `create_loss` returns" if run.losses else "does not come from `create_loss`"
                remedy = f"move this into `{CREATE_LOSS}`, the only function that is converted"
                message = f"the loss of `{TRAIN}` {what}; {remedy}"
                run.blame(loss, function.module, function.node, message)
            call = run.losses[0] if run.losses else None
        return None if call is None else self._arguments(call, item)

    def _arguments(self, call: LossCall, item: int | None) -> _Step:
        run, known = self.run, self.run.outputs
        step = _Step({}, {}, call)
        for name, value in call.arguments.items():
            if id(value) in known:
                step.outputs[name] = known[id(value)][1]
            elif isinstance(value, (list, tuple)) and value and all(id(part) in known for part in value):
                step.outputs[name] = [known[id(part)][1] for part in value]
            elif not isinstance(value, Item) or value.index == item:
                message = "the loss must be called with unchanged outputs and labels"
                run.blame(value, self.module, call.node, message)
            elif value.width not in (None, 1):
                message = f"the loss is called with a label of {value.width} columns; each label must be one column"
                run.problem_in(self.module, call.node, message)
            places = [fed.index for fed in items_in(value) if fed.index != item]
            if places and id(value) not in known:
                step.labels[name] = places[0]
        return step

    def _match(self, step: _Step) -> None:
        """Match the parameters of the loss with outputs, by the call in `train_forward`, and with labels, by name."""
        loss, schema = self.loss, self.schema
        names, own = [item.arg for item in loss.node.args.args][1:], loss.module is not self.module
        heads, columns = names[: len(self.outputs)], list(range(len(schema.labels)))
        if not own:
            heads, columns = default_trainer.parameters(schema, names, len(self.outputs), self.returns_list)
        by_label = dict(zip(names[len(heads) :], columns, strict=True))
        self.batch_labels = {step.labels[name]: column for name, column in by_label.items() if name in step.labels}
        order = _output_order(step, heads, len(self.outputs))
        if order is None:
            if not self.run.problems:
                message = "`train_forward` does not pass all outputs of the model unchanged to the loss"
                self.run.problem_in(loss.module, loss.node, message)
            return
        if not own:
            self._check_labels(step, loss, by_label)
        single = len(heads) < len(self.outputs)
        self.loss_arguments = ["outputs"] if single else [f"outputs[{i}]" for i in order]
        for name, column in by_label.items():
            text = f"labels[:, {column}:{column + 1}]"
            self.loss_arguments.append(f"tf.cast({text}, tf.int64)" if only_classes(loss.node, name) else text)

    def _check_labels(self, step: _Step, function: Function, columns: Mapping[str, int]) -> None:
        """Record problems for labels that `train_forward` mixes up or casts to integers."""
        run, labels, node = self.run, self.schema.labels, step.call.node
        items = [step.labels[name] for name in columns if name in step.labels]
        if len(set(items)) < len(items):
            message = "two labels of the loss are the same item of the batch; use one item per label"
            run.problem_in(self.module, node, message)
        for name, column in columns.items():
            value = step.call.arguments.get(name)
            if isinstance(value, Item) and value.whole and not only_classes(function.node, name):
                message = (
                    f"the label `{labels[column]}` is cast to integers, which is not converted; cast it to float32"
                )
                run.problem_in(self.module, node, message)
            spelled = plain_label(step.call.spelled.get(name, ""), labels)
            if spelled in labels and spelled != labels[column]:
                message = f"`train_forward` passes the label `{spelled}` as the parameter `{name}`; rename one of them"
                run.problem_in(self.module, function.node, message)


def _listed(value: Value) -> Value:
    return [_listed(item) for item in value] if isinstance(value, (list, tuple)) else value


def _output_order(step: _Step, names: list[str], outputs: int) -> list[int] | None:
    """Return the outputs in the order of the loss's parameters; None unless each output occurs once."""
    indices = [step.outputs.get(name) for name in names]
    every = list(range(outputs))
    if len(indices) == 1 and isinstance(indices[0], list):
        return every if indices[0] == every else None
    plain = [index for index in indices if isinstance(index, int)]
    return plain if sorted(plain) == every and len(plain) == len(indices) else None


def check_sizes(program: Program) -> None:
    """Raise `MigrateError` if no layer can read the input."""
    size = program.schema.input.size
    sizes = {int(layer.arguments["in_features"]): layer for layer in program.linears}
    if program.linears and size not in sizes:
        first = program.linears[0]
        raise MigrateError(
            f"{program.schema.path}: `input.size` is {size}, but line {first.span[0]} of {program.shown} "
            f"creates a layer for {first.arguments['in_features']} input columns; correct the schema or "
            "`model.arguments`"
        )


def check_input_name(program: Program) -> None:
    name = program.schema.input.name
    definition = program.run.model_class.find("forward")
    wanted = definition[0].args.args[1].arg if definition and len(definition[0].args.args) > 1 else name
    if name and name != wanted:
        raise MigrateError(
            f"{program.schema.path}: `input.name` is `{name}`, but the parameter of `forward` of {program.name} is "
            f"`{wanted}`; use that name or remove the key"
        )


def check_outputs(program: Program, result: Value) -> None:
    """Keep what the model returns.

    Raises:
        Stop: it is not a list of tensors, or one of them is not known.
    """
    if mentions(result, Unknown):
        raise Stop
    program.returns_list = isinstance(result, (list, tuple))
    outputs = list(result) if program.returns_list else [result]
    if outputs and all(isinstance(item, Tensor) and not isinstance(item, OneHot) for item in outputs):
        program.outputs = outputs
        for item in outputs:
            _check_output(program, item)
        _check_tasks(program)
        return
    _not_returned(program, "`forward` must return tensors or a list of them")
    raise Stop


def _not_returned(program: Program, message: str) -> None:
    definition = program.run.model_class.find("forward")
    program.run.problem_in(program.net, definition[0] if definition else program.run.model_class.node, message)


def _check_output(program: Program, output: Tensor) -> None:
    """Record a problem for an output from which the loss and predictions of the schema cannot be made."""
    if not output.shape:
        what = "a scalar" if output.shape == () else "a tensor whose rank is not known"
        _not_returned(program, f"`forward` returns {what}; the first dimension of an output must be the batch")
    elif output.dtype != "float32":
        _not_returned(program, f"`forward` returns {output.dtype}; outputs must be float32")


def _check_tasks(program: Program) -> None:
    """Raise `MigrateError` if the schema's tasks do not match the model's outputs."""
    schema, outputs = program.schema, program.outputs
    for task in schema.tasks:
        if task.output >= len(outputs):
            raise MigrateError(
                f"{schema.path}: task `{task.name}` uses output {task.output}, but {program.name} returns "
                f"{len(outputs)}; correct `tasks` (outputs count from 0)"
            )
        shape = outputs[task.output].shape
        width = shape[-1] if shape is not None and len(shape) > 1 else None
        if width is not None and task.loss != "square_error" and task.positive >= width:
            raise MigrateError(
                f"{schema.path}: task `{task.name}` uses column {task.positive} of output {task.output}, which has "
                f"{width}; correct `positive` (columns count from 0)"
            )
