"""Paddle's names on TensorFlow: all examples of ops and layers against Paddle, files, and what is said of the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT


def _run(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == code, done.stderr[-3000:]
    return done


@pytest.mark.one_version
@pytest.mark.paddle
def test_examples_compute_what_they_do_in_paddle() -> None:
    shown = _run("-m", "tests.support.paddle.facade_examples").stdout.splitlines()
    assert [line for line in shown if line.startswith("differs")] == []
    assert int(shown[-1].split()[0]) > 900


PROGRAM = """
import sys
import paddle
import paddle.nn as nn
import numpy as np

def made():
    net = nn.Sequential(nn.Embedding(5, 2), nn.Linear(2, 1))
    opt = paddle.optimizer.Adam(0.1, parameters=net.parameters())
    for _ in range(3):
        net(paddle.to_tensor([1, 2, 7])).sum().backward()
        opt.step()
        opt.clear_grad()
    return net, opt

net, opt = made()
paddle.save(net.state_dict(), sys.argv[1] + ".pdparams")
paddle.save(opt.state_dict(), sys.argv[1] + ".pdopt")
again, other = made()
assert again.set_state_dict(paddle.load(sys.argv[1] + ".pdparams")) == ([], [])
ids = paddle.to_tensor([0, 1, 2, 7])
assert np.array_equal(net(ids).numpy(), again(ids).numpy())
grown = net[0](paddle.to_tensor([7])).numpy()
assert np.array_equal(grown, again[0](paddle.to_tensor([7])).numpy())
print("rows", int(again[0].weight.table.size()), "steps kept", len(opt.state_dict()) > 3)
"""


def test_files_keep_rows_beyond_the_matrix(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(PROGRAM, encoding="utf-8")
    assert "rows 6 steps kept True" in _run("-m", "runtime.compat.paddle", str(path), str(tmp_path / "kept")).stdout


SAME = """
import sys

if sys.argv[1] == "facade":
    from runtime.compat.paddle import install

    install()
import numpy as np
import paddle
import paddle.nn as nn
from paddle.nn.functional.common import cosine_similarity

ids = paddle.to_tensor([[3, 1, 2], [1, 1, 3]])
found = paddle.unique(ids, return_index=True, return_inverse=True, return_counts=True)
print([part.numpy().tolist() for part in found], ids.unique().tolist())
print(paddle.unique(paddle.to_tensor([[1, 2], [1, 2], [0, 1]]), axis=0).tolist())
x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
filled = paddle.masked_fill(x, paddle.to_tensor([True, False, True]), -1.0)
filled.sum().backward()
print(filled.tolist(), x.grad.tolist(), x.gradient().tolist(), x.is_leaf, filled.is_leaf)
print(paddle.bincount(paddle.to_tensor([1, 1, 3])).tolist(), paddle.is_floating_point(x), paddle.rank(x).tolist())
print(x.to("float64").numpy().dtype, x.ndimension(), [b for b in paddle.batch(lambda: iter(range(5)), 2)()])
net = nn.Linear(2, 2)
with paddle.no_grad():
    net.weight.fill_(2.0)
    net.weight.add_(paddle.ones([2, 2]))
    net.weight.clip_(0.0, 2.5)
    net.bias.zero_()
optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
scaler = paddle.amp.GradScaler(init_loss_scaling=1024)
for step in range(2):
    with paddle.amp.auto_cast():
        loss = nn.loss.MSELoss()(net(paddle.ones([1, 2])), paddle.zeros([1, 2]))
    scaler.scale(loss).backward()
    scaler.step(optimizer) if step else scaler.minimize(optimizer, loss)
    scaler.update()
    optimizer.clear_grad()
print(net.weight.tolist(), cosine_similarity(net.weight, net.weight).tolist())
layer = nn.Linear(3, 1, weight_attr=nn.initializer.Constant(2.0))
x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
y = x * 2
z = layer(y.clone())
y[0] = z.sum() * 3
(y * y).sum().backward()
print(y.tolist(), x.grad.tolist(), layer.weight.grad.tolist())
"""


@pytest.mark.one_version
@pytest.mark.paddle
def test_functions_whose_shapes_depend_on_values_and_precision_are_those_of_paddle(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(SAME, encoding="utf-8")
    own, stock = (_run(str(path), side).stdout.splitlines() for side in ("facade", "stock"))
    assert own == stock and len(own) == 7


#: What Paddle 3 calls something -> what Paddle 2 does.
OF_PADDLE_3 = {
    "paddle.cat(tensors=[x, y], dim=1)": "paddle.concat(x=[x, y], axis=1)",
    "paddle.clamp(input=x, min=1.0)": "paddle.clip(x, min=1.0)",
    "paddle.sum(input=x, dim=0, keepdim=True)": "paddle.sum(x, axis=0, keepdim=True)",
    "x.mean(dim=1)": "x.mean(axis=1)",
    "paddle.eq(x, other=y), x.gt(y), paddle.ne(input=x, other=y)": "x == y, x > y, x != y",
    "paddle.div(paddle.sub(x, y), x.mul(y) + 1)": "(x - y) / (x * y + 1)",
    "paddle.nn.functional.softmax(x, dim=0)": "paddle.nn.functional.softmax(x, axis=0)",
    "paddle.nn.functional.normalize(x, dim=0, eps=1e-6)": "paddle.nn.functional.normalize(x, axis=0, epsilon=1e-6)",
    "x.reshape(3, 2), x.transpose(1, 0), x.tile(2, 1)": "x.reshape([3, 2]), x.transpose([1, 0]), x.tile([2, 1])",
    "paddle.zeros(2, 3), paddle.ones(size=[2])": "paddle.zeros([2, 3]), paddle.ones([2])",
    "paddle.compat.max(x), paddle.compat.min(input=x, other=y)": "paddle.max(x), paddle.minimum(x, y)",
    "paddle.compat.max(x, 1)": "paddle.topk(x, 1)[0][:, 0], paddle.argmax(x, 1)",
    "paddle.compat.min(x, dim=0, keepdim=True)": "paddle.min(x, 0, True), paddle.argmin(x, 0, True)",
    "paddle.compat.sort(x, descending=True)": "paddle.sort(x, descending=True), paddle.argsort(x, descending=True)",
    "paddle.compat.split(x, 2, dim=1)": "paddle.split(x, [2, 1], axis=1)",
    "paddle.compat.equal(x, x)": "bool(paddle.equal_all(x, x))",
    "paddle.compat.allclose(x, y)": "bool(paddle.allclose(x, y))",
    "paddle.compat.unique(x)": "paddle.unique(x)",
}
PADDLE_3 = """
import sys

if sys.argv[1] == "facade":
    from runtime.compat.paddle import install

    install()
import paddle

def shown(value):
    if isinstance(value, tuple | list):
        return [shown(part) for part in value]
    return (value.astype("float64") * 1e5).round().tolist() if isinstance(value, paddle.Tensor) else value

for text in sys.argv[2:]:
    x = paddle.to_tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]], stop_gradient=False)
    y = paddle.to_tensor([[1.0, 1.0, 4.0], [0.0, 2.0, 4.0]], stop_gradient=False)
    result = eval(text)
    first = result[0] if isinstance(result, tuple | list) else result
    if isinstance(first, paddle.Tensor) and first.dtype == paddle.float32 and not any(word in text for word in ("zeros", "unique")):
        (first * first).sum().backward()
    print(shown(result), shown([one.grad for one in (x, y)]))
"""


@pytest.mark.one_version
@pytest.mark.paddle
def test_names_and_arguments_of_paddle_3_do_what_those_of_paddle_2_do(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(PADDLE_3, encoding="utf-8")
    own = _run(str(path), "facade", *OF_PADDLE_3).stdout.splitlines()
    stock = _run(str(path), "stock", *OF_PADDLE_3.values()).stdout.splitlines()
    assert dict(zip(OF_PADDLE_3, own, strict=True)) == dict(zip(OF_PADDLE_3, stock, strict=True))


REFUSED = {
    "paddle.amp.decorate(None, level='O2')": "weights have two bytes on GPUs alone: give level='O1'",
    "paddle.set_default_dtype('float64')": "paddle.set_default_dtype got float64, and weights are float32 here",
    "paddle.fluid.layers.fc": "paddle.fluid.layers is not supported by runtime.compat.paddle: use what docs/paddle.md",
    "paddle.ones([2]).frobnicate()": "the method `frobnicate` of a tensor is not supported by runtime.compat.paddle",
    "paddle.ones([2]).sum().backward()": "backward() got a tensor without gradients: no trainable weight led to it",
    "paddle.load('bad')": "bad: cannot be loaded (it names os.system, which is no plain data); give a file that paddle",
}


@pytest.mark.each_case
@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_there_is_said(text: str, tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"cos\nsystem\n(S'echo run'\ntR.")
    path = tmp_path / "train.py"
    path.write_text(f"import os\nimport paddle\nos.chdir({str(tmp_path)!r})\n{text}\n", encoding="utf-8")
    done = _run("-m", "runtime.compat.paddle", str(path), code=1)
    assert REFUSED[text] in done.stderr and "run" not in done.stdout
