"""Interprets a model with its schema and trainer, and collects the layers, their inputs, and the outputs."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from migrate.errors import MigrateError
from migrate.schema import Schema
from migrate.source.paddle.facts import modules, trainer
from migrate.source.paddle.facts.trainer import TRAINER
from migrate.source.paddle.interpreter import calls, layers
from migrate.source.paddle.interpreter.interpreter import Interpreter
from migrate.source.paddle.interpreter.run import Frame
from migrate.source.paddle.mapping.values import (
    RAW_INPUT,
    Class,
    Function,
    Instance,
    Linear,
    Module,
    Refuse,
    Stop,
    Tensor,
    Unknown,
    Value,
    mentions,
    named_layers,
)
from migrate.source.paddle.training.optimizer import Optimizer
from migrate.source.paddle.training.verdicts import Driver, Step, judge_model, judge_optimizer, judge_step


@dataclass
class Program:
    """A model after its constructor and `forward` have been followed."""

    schema: Schema
    run: Interpreter
    module: Module
    model: Instance
    arguments: dict[str, Value]
    outputs: list[Tensor] = field(default_factory=list)
    returns_list: bool = True
    trainer: Module | None = None
    loss: Function | None = None
    optimizer: Optimizer | None = None  #: what `create_optimizer` makes
    overridden: list[str] = field(default_factory=list)  #: where the schema's arguments are not `create_model`'s
    batch_input: int | None = None  #: the item of the reader's batch that the model is given
    batch_labels: dict[int, int] = field(default_factory=dict)  #: item of the batch -> column of the labels
    columns: list[Linear] = field(default_factory=list)  #: the layers whose kernels share the table, from left to right
    loss_arguments: list[str] = field(
        default_factory=list
    )  #: how `build_model` calls it: `outputs[0]`, `label[:, 0:1]`

    @property
    def name(self) -> str:
        """The name of the model class."""
        assert self.model.cls is not None
        return self.model.cls.name

    @property
    def emb_dim(self) -> int:
        """The number of columns of the embedding table."""
        return sum(layer.out_features for layer in self.columns)

    @property
    def paths(self) -> dict[int, str]:
        """id of a layer -> its path in Paddle."""
        return {id(layer): path for path, layer in named_layers(self.model)}

    @property
    def input_linears(self) -> list[Linear]:
        """The layers that read the raw input, in order of creation."""
        return [layer for layer in self.run.linears if layer.fed_raw]


def model_arguments(path: str, text: str, schema: Schema, siblings: Mapping[str, str]) -> tuple[str, dict[str, Value]]:
    """Return the model class name and the constructor arguments, from the schema or else the trainer.

    Raises:
        MigrateError: they are unknown, or the file is not valid Python.
    """
    run = Interpreter()
    try:
        module = modules.load(run, path, text)
    except SyntaxError as error:
        raise MigrateError(f"{path}: line {error.lineno} is not valid Python ({error.msg}); correct it") from error
    cls = _model_class(schema, module)
    return cls.name, _arguments(run, schema, module, cls, siblings)


def follow(path: str, text: str, schema: Schema, siblings: Mapping[str, str]) -> tuple[Interpreter, Program | None]:
    """Interpret the model; the program is None if the model or its trainer could not be interpreted completely.

    The interpreter has the problems that were found.

    Raises:
        SyntaxError: `text` is not Python.
        MigrateError: schema and source contradict each other.
    """
    run, program, whole = _followed(path, text, schema, siblings)
    return run, program if whole else None


def _followed(
    path: str, text: str, schema: Schema, siblings: Mapping[str, str]
) -> tuple[Interpreter, Program | None, bool]:
    """Return the interpreter, the program as far as it was interpreted, and whether it is complete."""
    run = Interpreter()
    module = modules.load(run, path, text)
    run.modules["net"] = module
    cls = _model_class(schema, module)
    arguments = _arguments(run, schema, module, cls, siblings)
    run.frames.append(Frame(module, ""))
    program = None
    try:
        program = _build(run, module, cls, arguments, schema)
        if program is not None:
            _follow_trainer(program, siblings)
    except Stop:
        return run, program, False
    finally:
        run.frames.clear()
    return run, program, True


def batch_layout(path: str, text: str, schema: Schema, siblings: Mapping[str, str]) -> tuple[int, dict[int, int]]:
    """Return the index of the model's input in a reader's batch, and index -> column for the labels.

    The default is that of PaddleRec's multi-task models: the input first, then the labels.
    """
    try:
        _, program, _ = _followed(path, text, schema, siblings)
    except (SyntaxError, MigrateError):
        program = None
    place = (program.batch_input if program else None) or 0
    rest = [i for i in range(len(schema.labels) + 1) if i != place]
    known = program.batch_labels if program else {}
    return place, known or {item: column for column, item in enumerate(rest)}


def _model_class(schema: Schema, module: Module) -> Class:
    classes = [value for value in module.names.values() if isinstance(value, Class) and value.is_layer]
    if schema.model.name:
        for cls in classes:
            if cls.name == schema.model.name:
                return cls
        if isinstance(module.names.get(schema.model.name), Class):
            raise MigrateError(
                f"{schema.path}: `model.class` is `{schema.model.name}`, which does not derive from `nn.Layer` in "
                f"{module.path}; give a model, or define its base classes in the file"
            )
        raise MigrateError(
            f"{schema.path}: `model.class` is `{schema.model.name}`, but {module.path} does not define it; correct it"
        )
    used = {node.id for node in ast.walk(module.tree) if isinstance(node, ast.Name)}
    top = [cls for cls in classes if cls.name not in used - _names_in_super(module)]
    if len(top) != 1:
        names = ", ".join(cls.name for cls in top) or "none"
        raise MigrateError(
            f"{schema.path}: {module.path} must have one model class (found: {names}); select it with `model.class`"
        )
    return top[0]


def _names_in_super(module: Module) -> set[str]:
    """Return the classes that are used only in their own body, as in `super(MMoELayer, self)`."""
    inside: set[str] = set()
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef):
            own = sum(isinstance(item, ast.Name) and item.id == node.name for item in ast.walk(node))
            every = sum(isinstance(item, ast.Name) and item.id == node.name for item in ast.walk(module.tree))
            inside |= {node.name} if own == every else set()
    return inside


def _arguments(
    run: Interpreter, schema: Schema, module: Module, cls: Class, siblings: Mapping[str, str]
) -> dict[str, Value]:
    given: dict[str, Value] = dict(schema.model.arguments)
    found = cls.find("__init__")
    if found is None:
        return given
    spec = found[0].args
    names = [item.arg for item in [*spec.args[1:], *spec.kwonlyargs]]
    required = [item.arg for item in spec.args[1 : len(spec.args) - len(spec.defaults)]]
    missing = [name for name in required if name not in given]
    made = trainer.constructor_arguments(module, cls, siblings) if missing else None
    if made is not None:
        given = made | given
    elif missing and not given:
        wanted = ", ".join(missing)
        raise MigrateError(f"{schema.path}: `model.arguments` is missing; give values for {wanted} of {cls.name}")
    _check_arguments(schema, cls, names, required, given)
    return given


def _check_arguments(
    schema: Schema, cls: Class, names: list[str], required: list[str], given: Mapping[str, Value]
) -> None:
    for name in given:
        if name not in names:
            raise MigrateError(
                f"{schema.path}: `model.arguments` has `{name}`, which is no parameter of {cls.name}; "
                f"use {', '.join(names) or 'none'}"
            )
    for name in required:
        if name not in given:
            raise MigrateError(f"{schema.path}: `model.arguments` has no value for `{name}` of {cls.name}; add it")


def _build(run: Interpreter, module: Module, cls: Class, arguments: dict[str, Value], schema: Schema) -> Program | None:
    node = ast.copy_location(ast.Call(ast.Name(cls.name, ast.Load()), [], []), cls.node)
    try:
        model = layers.instantiate(run, node, cls, [], arguments)
        program = Program(schema, run, module, model, arguments)
        run.lasting.begin([module], run.instances)
        value = RAW_INPUT if schema.input.sparse else Tensor((None, schema.input.size))
        result = calls.call_layer(run, node, model, [value], {})
    except Refuse as reason:
        run.problem(cls.node, str(reason))
        return None
    _check_sizes(program)
    _check_input_name(program)
    return program if _check_outputs(program, result) else None


def _check_sizes(program: Program) -> None:
    size = program.schema.input.size
    for layer in program.input_linears:
        if layer.in_features != size:
            raise MigrateError(
                f"{program.schema.path}: `input.size` is {size}, but line {layer.span[0]} of {program.module.path} "
                f"creates a layer for {layer.in_features} input columns; correct the schema or `model.arguments`"
            )


def _check_input_name(program: Program) -> None:
    name, cls = program.schema.input.name, program.model.cls
    found = cls.find("forward") if cls else None
    wanted = found[0].args.args[1].arg if found and len(found[0].args.args) > 1 else name
    if name and name != wanted:
        raise MigrateError(
            f"{program.schema.path}: `input.name` is `{name}`, but the parameter of `forward` of {program.name} is "
            f"`{wanted}`; use that name or remove the key"
        )


def _check_outputs(program: Program, result: Value) -> bool:
    if mentions(result, Unknown):
        return False
    program.returns_list = isinstance(result, list | tuple)
    outputs = list(result) if program.returns_list else [result]
    if outputs and all(isinstance(item, Tensor) for item in outputs):
        program.outputs = outputs
        for task in program.schema.tasks:
            if task.output >= len(outputs):
                raise MigrateError(
                    f"{program.schema.path}: task `{task.name}` uses output {task.output}, but {program.name} returns "
                    f"{len(outputs)}; correct `tasks` (outputs count from 0)"
                )
        return True
    assert program.model.cls is not None
    found = program.model.cls.find("forward")
    program.run.problem(
        found[0] if found else program.model.cls.node, "`forward` must return tensors or a list of them"
    )
    return False


def _follow_trainer(program: Program, siblings: Mapping[str, str]) -> None:
    """Interpret the methods of the trainer, and `create_loss` with the model's outputs and the schema's labels."""
    run, schema, cls = program.run, program.schema, program.model.cls
    assert cls is not None
    at = trainer.trainer_of(run, cls, siblings)
    if at is None:
        return
    program.overridden = trainer.overridden(schema.model.arguments, judge_model(at))
    program.optimizer = judge_optimizer(at)
    step = judge_step(at, len(program.outputs), program.returns_list, schema.input.size)
    program.trainer = at.module
    program.loss = trainer.method_of(at.module, at.cls, "create_loss")
    program.batch_input = step.input if step else None
    if program.loss is not None:
        _follow_loss(program, at, program.loss, step)


def _follow_loss(program: Program, at: Driver, function: Function, step: Step | None) -> None:
    run, labels = program.run, program.schema.labels
    names = [item.arg for item in function.node.args.args][-len(labels) :]
    columns = trainer.label_order(names, labels) if labels and step else None
    for name, column in zip(names, columns or (), strict=False):
        if step is not None and name in step.labels:
            program.batch_labels[step.labels[name]] = column
    if function.node.decorator_list:
        at.problem(function.node.decorator_list[0], "a decorator is not supported in the trainer")
    values = _loss_arguments(program, at, function, step)
    result = run.call_function(function, values, {})
    if isinstance(result, Tensor) and result.shape not in ((), (1,), None):
        at.problem(function.node, f"the loss is a tensor of shape {list(result.shape or ())}; it must be a scalar")


def _loss_arguments(program: Program, at: Driver, function: Function, step: Step | None) -> list[Value]:
    """Match the parameters of `create_loss` with outputs, by the call in `train_forward`, and with labels, by name."""
    names = [item.arg for item in function.node.args.args][1:]
    labels = program.schema.labels
    single = len(names) == 1 + len(labels) and program.returns_list and len(program.outputs) > 1
    count = 1 if single else len(program.outputs)
    if len(names) != count + len(labels):
        raise MigrateError(
            f"{program.schema.path}: create_loss of {TRAINER} takes {len(names)} arguments, but the model has {count} "
            f"outputs and `labels` lists {len(labels)}; correct `labels`"
        )
    order = _output_order(step, names[:count], len(program.outputs))
    if order is None:
        if not program.run.problems:
            at.problem(function.node, "`train_forward` does not pass all outputs of the model unchanged to the loss")
        raise Stop
    program.loss_arguments += ["outputs"] if single else [f"outputs[{i}]" for i in order]
    indices = trainer.label_order(names[count:], labels)
    if indices is None:
        raise MigrateError(
            f"{program.schema.path}: `labels` are {', '.join(labels)}, but the parameters of create_loss of {TRAINER} "
            f"are {', '.join(names[count:])}; use the same names, which determine the order"
        )
    _check_labels(program, at, step, dict(zip(names[count:], indices, strict=True)))
    program.loss_arguments += [f"label[:, {index}:{index + 1}]" for index in indices]
    heads: list[Value] = [list(program.outputs)] if single else [program.outputs[i] for i in order]
    return [*heads, *(Tensor((None, 1)) for _ in labels)]


def _output_order(step: Step | None, names: list[str], outputs: int) -> list[int] | None:
    """Return the outputs in the order of the loss's parameters; None unless each output occurs once."""
    if step is None:
        return list(range(outputs))
    found = [step.outputs.get(name) for name in names]
    every = list(range(outputs))
    if len(found) == 1 and isinstance(found[0], list):
        return every if found[0] == every else None
    plain = [index for index in found if isinstance(index, int)]
    return plain if sorted(plain) == every and len(plain) == len(found) else None


def _check_labels(program: Program, at: Driver, step: Step | None, columns: dict[str, int]) -> None:
    """Record problems for labels that `train_forward` mixes up or casts to integers."""
    if step is None:
        return
    labels = program.schema.labels
    if len({step.labels[name] for name in columns if name in step.labels}) < len(columns.keys() & step.labels.keys()):
        at.problem(step.node, "two labels of the loss are the same item of the batch; use one item per label")
    for name, column in columns.items():
        if name in step.whole and not (program.loss and trainer.only_classes(program.loss.node, name)):
            told = f"the label `{labels[column]}` is cast to integers, which is not converted; cast it to float32"
            at.problem(step.node, told)
        spelled = trainer.plain_label(step.spelled.get(name, ""), labels)
        if spelled in labels and spelled != labels[column]:
            function = program.loss
            assert function is not None
            at.problem(
                function.node,
                f"`train_forward` passes the label `{spelled}` as the parameter `{name}`; rename one of them",
            )
