"""From a model file, its schema and the files beside it to the facts: which layers there are and what feeds them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from migrate.errors import MigrateError
from migrate.schema import Schema
from migrate.source.frontends.paddle import calls, layers, modules, trainer
from migrate.source.frontends.paddle.interpreter import Frame, Interpreter
from migrate.source.frontends.paddle.trainer import TRAINER
from migrate.source.frontends.paddle.values import (
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
    columns: list[Linear] = field(default_factory=list)  #: the layers whose kernels share the table, from left to right
    loss_arguments: list[str] = field(
        default_factory=list
    )  #: how `build_model` calls it: `outputs[0]`, `label[:, 0:1]`

    @property
    def name(self) -> str:
        """The model's class name."""
        assert self.model.cls is not None
        return self.model.cls.name

    @property
    def emb_dim(self) -> int:
        """How many columns the embedding table has."""
        return sum(layer.out_features for layer in self.columns)

    @property
    def paths(self) -> dict[int, str]:
        """Layer object -> Paddle's path of it."""
        return {id(layer): path for path, layer in named_layers(self.model)}

    @property
    def input_linears(self) -> list[Linear]:
        """The layers that read the raw input, in order of creation."""
        return [layer for layer in self.run.linears if layer.fed_raw]


def model_arguments(path: str, text: str, schema: Schema, siblings: Mapping[str, str]) -> tuple[str, dict[str, Value]]:
    """Return the model's class name and constructor arguments, from the schema or else the files beside the source.

    Raises:
        MigrateError: neither says them, or the file does not parse.
    """
    run = Interpreter()
    try:
        module = modules.load(run, path, text)
    except SyntaxError as error:
        raise MigrateError(f"{path}: line {error.lineno} is not valid Python ({error.msg}), correct it") from error
    cls = _model_class(schema, module)
    return cls.name, _arguments(run, schema, module, cls, siblings)


def follow(path: str, text: str, schema: Schema, siblings: Mapping[str, str]) -> tuple[Interpreter, Program | None]:
    """Follow the model; the program is None when its constructor or `forward` could not be followed to the end.

    Problems found on the way are in the interpreter; the parsed file is its first module.

    Raises:
        SyntaxError: `text` is not Python.
        MigrateError: schema and source contradict each other.
    """
    run = Interpreter()
    module = modules.load(run, path, text)
    run.modules["net"] = module
    cls = _model_class(schema, module)
    arguments = _arguments(run, schema, module, cls, siblings)
    run.frames.append(Frame(module, ""))
    try:
        program = _build(run, module, cls, arguments, schema)
        if program is not None:
            _follow_loss(program, siblings)
    except Stop:
        program = None
    run.frames.clear()
    return run, program


def _model_class(schema: Schema, module: Module) -> Class:
    classes = [value for value in module.names.values() if isinstance(value, Class) and value.is_layer]
    if schema.model.name:
        for cls in classes:
            if cls.name == schema.model.name:
                return cls
        if isinstance(module.names.get(schema.model.name), Class):
            raise MigrateError(
                f"{schema.path}: `model.class` is `{schema.model.name}`, which in {module.path} does not derive from "
                "`nn.Layer`; name a model, or bring its base classes into the file"
            )
        raise MigrateError(
            f"{schema.path}: `model.class` is `{schema.model.name}`, which {module.path} does not define"
        )
    used = {node.id for node in ast.walk(module.tree) if isinstance(node, ast.Name)}
    top = [cls for cls in classes if cls.name not in used - _names_in_super(module)]
    if len(top) != 1:
        names = ", ".join(cls.name for cls in top) or "none"
        raise MigrateError(
            f"{schema.path}: {module.path} has no single model class (found {names}), name it in `model.class`"
        )
    return top[0]


def _names_in_super(module: Module) -> set[str]:
    """Classes that are named nowhere but inside their own body, as in `super(MMoELayer, self)`."""
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
    given = dict(schema.model.arguments)
    found = cls.find("__init__")
    if found is None:
        return given
    spec = found[0].args
    names = [item.arg for item in [*spec.args[1:], *spec.kwonlyargs]]
    required = [item.arg for item in spec.args[1 : len(spec.args) - len(spec.defaults)]]
    missing = [name for name in required if name not in given]
    made = trainer.constructor_arguments(module, cls, siblings) if missing else None
    if made is not None:
        given = dict(zip(names, made[0], strict=False)) | made[1] | given
    elif missing and not given:
        wanted = ", ".join(missing)
        raise MigrateError(f"{schema.path}: `model.arguments` is missing, give values for {wanted} of {cls.name}")
    _check_arguments(schema, cls, names, required, given)
    return given


def _check_arguments(
    schema: Schema, cls: Class, names: list[str], required: list[str], given: Mapping[str, Value]
) -> None:
    for name in given:
        if name not in names:
            raise MigrateError(
                f"{schema.path}: `model.arguments` gives `{name}`, which the constructor of {cls.name} does not take, "
                f"use {', '.join(names) or 'none'}"
            )
    for name in required:
        if name not in given:
            raise MigrateError(f"{schema.path}: `model.arguments` lacks `{name}` of {cls.name}, add it")


def _build(run: Interpreter, module: Module, cls: Class, arguments: dict[str, Value], schema: Schema) -> Program | None:
    node = ast.copy_location(ast.Call(ast.Name(cls.name, ast.Load()), [], []), cls.node)
    try:
        model = layers.instantiate(run, node, cls, [], arguments)
        program = Program(schema, run, module, model, arguments)
        run.built = True
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
                f"makes a layer for {layer.in_features} input columns, correct the schema or `model.arguments`"
            )


def _check_input_name(program: Program) -> None:
    name, cls = program.schema.input.name, program.model.cls
    found = cls.find("forward") if cls else None
    wanted = found[0].args.args[1].arg if found and len(found[0].args.args) > 1 else name
    if name and name != wanted:
        raise MigrateError(
            f"{program.schema.path}: `input.name` is `{name}`, but `forward` of {program.name} calls its input "
            f"`{wanted}`, use that name or leave it out"
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
                    f"{program.schema.path}: task `{task.name}` reads output {task.output}, but {program.name} returns "
                    f"{len(outputs)}, correct `tasks` (outputs count from 0)"
                )
        return True
    assert program.model.cls is not None
    found = program.model.cls.find("forward")
    program.run.problem(
        found[0] if found else program.model.cls.node, "`forward` must return tensors or a list of them"
    )
    return False


def _follow_loss(program: Program, siblings: Mapping[str, str]) -> None:
    """Follow `create_loss` of the trainer on the outputs and the schema's labels."""
    if TRAINER not in siblings:
        return
    run = program.run
    try:
        module = modules.load(run, TRAINER, siblings[TRAINER])
    except SyntaxError:
        return
    function = trainer.method_of(module, "create_loss")
    if function is None:
        return
    program.trainer, program.loss = module, function
    values = _loss_arguments(program, module, function)
    result = run.call_function(function, values, {})
    if isinstance(result, Tensor) and result.shape not in ((), (1,), None):
        run.frames.append(Frame(module, function.node.name))
        run.problem(function.node, f"the loss is a tensor of shape {list(result.shape or ())}, not one number")
        run.frames.pop()


def _loss_arguments(program: Program, module: Module, function: Function) -> list[Value]:
    """Match the parameters of `create_loss` with outputs (as `train_forward` passes them) and labels (by name)."""
    names = [item.arg for item in function.node.args.args][1:]
    labels = program.schema.labels
    single = len(names) == 1 + len(labels) and program.returns_list and len(program.outputs) > 1
    count = 1 if single else len(program.outputs)
    if len(names) != count + len(labels):
        raise MigrateError(
            f"{program.schema.path}: create_loss of {TRAINER} takes {len(names)} values, but the model gives {count} "
            f"and `labels` names {len(labels)}; correct `labels`"
        )
    order = trainer.output_order(module, names, count)
    if order is None:
        program.run.frames.append(Frame(module, function.node.name))
        program.run.problem(function.node, "`train_forward` does not pass the model's outputs to the loss as they are")
        raise Stop
    program.loss_arguments += ["outputs"] if single else [f"outputs[{i}]" for i in order]
    indices = trainer.label_order(names[count:], labels)
    if indices is None:
        raise MigrateError(
            f"{program.schema.path}: `labels` are {', '.join(labels)}, but create_loss of {TRAINER} calls them "
            f"{', '.join(names[count:])}; use the same names, so that the order is no guess"
        )
    program.loss_arguments += [f"label[:, {index}:{index + 1}]" for index in indices]
    heads: list[Value] = [list(program.outputs)] if single else [program.outputs[i] for i in order]
    return [*heads, *(Tensor((None, 1)) for _ in labels)]
