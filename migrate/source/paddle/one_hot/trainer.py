"""The trainer that a schema tells of: what a trainer beside the model lacks, or all of it.

It gives the model the first item of a batch, and the loss the outputs and the labels; the loss is that of the tasks. It
is executed, written and run in Paddle as any other.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from migrate.errors import MigrateError
from migrate.schema import Schema, Task
from migrate.source.paddle.abstract.program import CLASS
from migrate.source.paddle.abstract.values import Function, Tensor
from migrate.source.paddle.model_files import TRAINER

_F = "paddle.nn.functional"


def text_of(schema: Schema, outputs: Sequence[Tensor], returns_list: bool, loss: Function | None) -> str:
    """Return the file of the trainer.

    Args:
        schema: the schema.
        outputs: what the model returns.
        returns_list: whether it returns them in a list.
        loss: `create_loss` of the trainer beside the model, if it has one.

    Raises:
        MigrateError: the loss and the schema contradict each other, or there is neither a loss nor tasks.
    """
    if loss is None and not schema.tasks:
        raise MigrateError(
            f"{schema.path}: `tasks` is missing, and there is no {TRAINER} with a create_loss; add `tasks`"
        )
    heads, columns = [f"outputs[{index}]" for index in range(len(outputs))], list(range(len(schema.labels)))
    if loss is not None:
        own = [item.arg for item in loss.node.args.args][1:]
        names, columns = parameters(schema, own, len(outputs), returns_list)
        heads = heads if len(names) == len(heads) else ["outputs"]
    arguments = [*(heads if returns_list else ["outputs"]), *(f"batch_data[{1 + column}]" for column in columns)]
    text = f"""\
import paddle


class {CLASS}:
    def train_forward(self, dy_model, metrics_list, batch_data, config):
        outputs = dy_model(batch_data[0])
        loss = self.create_loss({", ".join(arguments)})
        return loss, metrics_list, {{}}
"""
    return text if loss is not None else text + _loss(schema, outputs)


def parameters(schema: Schema, names: list[str], outputs: int, returns_list: bool) -> tuple[list[str], list[int]]:
    """Return the parameters of `create_loss` for outputs, of which one may take them all, and the columns of labels.

    Raises:
        MigrateError: there are more or fewer, or the names of the labels are not those of the schema.
    """
    labels = schema.labels
    count = 1 if len(names) == 1 + len(labels) and returns_list else outputs
    if len(names) != count + len(labels):
        raise MigrateError(
            f"{schema.path}: create_loss of {TRAINER} takes {len(names)} arguments, but the model has "
            f"{count} outputs and `labels` lists {len(labels)}; correct `labels`"
        )
    columns = label_order(names[count:], labels)
    if columns is None:
        raise MigrateError(
            f"{schema.path}: `labels` are {', '.join(labels)}, but the parameters of create_loss of "
            f"{TRAINER} are {', '.join(names[count:])}; use the same names, which determine the order"
        )
    return names[:count], columns


def _loss(schema: Schema, outputs: Sequence[Tensor]) -> str:
    labels = _names("label", schema.labels)
    terms = [_term(task, outputs[task.output], labels[schema.labels.index(task.label)]) for task in schema.tasks]
    losses = _names("loss", [task.name for task in schema.tasks])
    arguments = [*(f"pred_{index}" for index in range(len(outputs))), *labels]
    lines = [f"{name} = {term}" for name, term in zip(losses, terms, strict=True)]
    doc = '"""Return the sum of the tasks\' losses, a scalar."""'
    body = "\n        ".join([doc, *lines, f"return {' + '.join(losses)}"])
    return f"\n    def create_loss(self, {', '.join(arguments)}):\n        {body}\n"


def _names(prefix: str, words: Sequence[str]) -> list[str]:
    """Return names of variables with these words, or with numbers where one of them could not be such a name."""
    names = [f"{prefix}_{word}" for word in words]
    return names if all(map(str.isidentifier, names)) else [f"{prefix}_{place}" for place in range(len(words))]


def _term(task: Task, output: Tensor, label: str) -> str:
    whole, flat = f"pred_{task.output}", output.rank == 1
    factor = "" if task.weight == 1.0 else f"{task.weight!r} * "
    whole = f"paddle.reshape({whole}, [-1, 1])" if flat else whole
    if task.loss == "cross_entropy":
        return f'{factor}{_F}.cross_entropy({whole}, {label}.astype("int64"))'
    if task.loss == "square_error":
        return f"{factor}paddle.mean({_F}.square_error_cost({whole}, {label}))"
    column = whole if flat else f"{whole}[:, {task.positive}:{task.positive + 1}]"
    return f"{factor}paddle.mean({_F}.log_loss({column}, {label}, epsilon={task.epsilon!r}))"


def label_order(names: list[str], labels: tuple[str, ...]) -> list[int] | None:
    """Return the column of each label parameter of `create_loss`, by its name: `income` or `label_income`.

    Return None if a name is unknown or occurs twice, because the order would be a guess.
    """
    plain = [plain_label(name, labels) for name in names]
    if len(labels) == 1:
        return [0]
    return [labels.index(name) for name in plain] if sorted(plain) == sorted(labels) else None


def plain_label(name: str, labels: tuple[str, ...]) -> str:
    """Return the label in the name of a variable: `income` for `label_income`."""
    return name if name in labels else name.removeprefix("label_").removesuffix("_label")


def only_classes(function: ast.AST, name: str) -> bool:
    """Return whether a loss uses a label only as class index of a cross entropy, where it is an integer anyway."""
    calls = [item for item in ast.walk(function) if isinstance(item, ast.Call)]
    calls = [item for item in calls if ast.unparse(item.func).rpartition(".")[2] == "cross_entropy"]
    hard = [
        item
        for item in calls
        if len(item.args) < 3 and not any(keyword.arg in {"soft_label", None} for keyword in item.keywords)
    ]
    labels = [item.args[1:2] + [keyword.value for keyword in item.keywords if keyword.arg == "label"] for item in hard]
    good = {id(value) for values in labels for value in values if isinstance(value, ast.Name)}
    uses = [item for item in ast.walk(function) if isinstance(item, ast.Name) and item.id == name]
    return bool(uses) and all(id(item) in good for item in uses)
