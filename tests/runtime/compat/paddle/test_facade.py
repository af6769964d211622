"""Paddle's names on TensorFlow: all examples of ops and layers against Paddle, files, and what is said of the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
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
zeros = paddle.zeros([2, 3])
of_data = (zeros, zeros[0], 1 - zeros, zeros.T, zeros.astype("int64"), paddle.concat([zeros, zeros]), zeros > 0)
of_weights = (layer(zeros), layer.weight * 0, paddle.concat([zeros, zeros * layer.weight.sum()]), paddle.sum(x=y))
print([(part.stop_gradient, part.is_leaf) for part in (*of_data, *of_weights)])
drawn = paddle.rand([3])
drawn.stop_gradient = False
(drawn * 2).sum().backward()
zeros[1] = layer.weight[:, 0]
(zeros * 2).sum().backward()
print(drawn.grad.tolist(), zeros.stop_gradient, layer.weight.grad.tolist())
large = paddle.to_tensor([[0.5, -2.0, 1.0]], stop_gradient=False)
for order in (1, 2, 3.0, float("inf")):
    paddle.nn.functional.normalize(large, order, axis=1, epsilon=0.75)[0, 0].backward()
print([round(part, 4) for part in large.grad[0].tolist()])
cube = nn.Sequential(nn.Linear(1, 1, nn.initializer.Constant(3.0), False))
start = paddle.ones([2, 1]) * 1.0
start.stop_gradient = False
fast, middle = start.clone(), start * 2
for step in range(2):  # tensors of before the call, and one on the way to another
    own, between = paddle.grad((cube(fast) ** 3 * middle).sum(), [fast, middle], retain_graph=True)
    fast = fast - 0.01 * own
    print(own.tolist(), between.tolist(), paddle.grad(cube(middle * fast).sum(), [start, middle])[0].tolist())
model, rates = paddle.Model(net), []
model.prepare(optimizer, nn.MSELoss())
for monitor in ("loss", "acc"):
    slower = paddle.callbacks.ReduceLROnPlateau(monitor, 0.5, patience=2, verbose=0, cooldown=1, min_lr=0.02)
    slower.set_model(model)
    slower.on_train_begin()
    for value in (3.0, 2.0, 2.00005, 2.0, 2.0, 2.5, 2.0, 1.0, 1.0, 1.5, 1.0, 1.0, 1.0, 1.0):
        slower.on_eval_end({monitor: [value]})
        rates.append(round(float(optimizer.get_lr()), 6))
print(rates)
print((net.bias == 0).tolist(), (net.weight != net.weight.numpy()).any().item(), {net.bias: 3}[net.bias])
"""


@pytest.mark.one_version
@pytest.mark.paddle
def test_functions_whose_shapes_depend_on_values_and_precision_are_those_of_paddle(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(SAME, encoding="utf-8")
    own, stock = (_run(str(path), side).stdout.splitlines() for side in ("facade", "stock"))
    assert own == stock and len(own) == 14


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
    trains = "zeros" not in text and "unique" not in text
    if trains and isinstance(first, paddle.Tensor) and first.dtype == paddle.float32:
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
    "paddle.amp.decorate(None, level='O2')": "and this works on GPUs alone: give level='O1'",
    "paddle.set_default_dtype('float64')": "paddle.set_default_dtype got float64, and weights are float32 here",
    "paddle.fluid.layers.fc": "paddle.fluid.layers is not supported by runtime.compat.paddle: use what docs/paddle.md",
    "import paddle.vision.transforms": "paddle.vision is not supported by runtime.compat.paddle: use what docs/",
    "from paddle.nn import Frob": "paddle.nn.Frob is not supported by runtime.compat.paddle: use what docs/paddle.md",
    "paddle.ones([2]).frobnicate()": "the method `frobnicate` of a tensor is not supported by runtime.compat.paddle",
    "paddle.ones([2]).sum().backward()": "backward() got a tensor without gradients: no trainable weight led to it",
    "paddle.load('bad')": "bad: cannot be loaded (it names os.system, which is not plain data); give a file that "
    "paddle",
}


@pytest.mark.each_case
@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_there_is_said(text: str, tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"cos\nsystem\n(S'echo run'\ntR.")
    path = tmp_path / "train.py"
    path.write_text(f"import os\nimport paddle\nos.chdir({str(tmp_path)!r})\n{text}\n", encoding="utf-8")
    done = _run("-m", "runtime.compat.paddle", str(path), code=1)
    assert REFUSED[text] in done.stderr and "run" not in done.stdout


BUCKETED = """
import sys

import numpy as np
import paddle
import paddle.nn as nn

paddle.seed(1)
FROM, TO, OTHER = sys.argv[1], sys.argv[2], sys.argv[3:]


class Rows(nn.Embedding):  # where buckets are seen by the layer of Paddle alone
    def forward(self, x):
        return super().forward(x % 7 if OTHER == ["inside"] else x)


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.rows = Rows(7, 4, padding_idx=0)
        self.out = nn.Linear(4, 1)

    def forward(self, x):
        ids = paddle.remainder(x, paddle.to_tensor(7)) if OTHER == ["function"] else x % 7
        if OTHER == ["inside"]:
            ids = x
        if OTHER == ["scaled"] and FROM != "-":
            self.rows.weight.scale_(0.5)
        if OTHER == ["mixed"]:
            self.rows(paddle.to_tensor([1, 2]))
        return self.out(self.rows(ids.reshape([-1, 1])[:, 0]))


net = Net()
opt = paddle.optimizer.Adam(0.1, parameters=net.parameters())
numbers = paddle.to_tensor(np.arange(-9, 31))
goals = paddle.to_tensor((np.arange(-9, 31) % 2).astype("float32")[:, None])
if FROM != "-":
    assert net.set_state_dict(paddle.load(FROM + ".pdparams"))[1:] in ((), ([],))
    opt.set_state_dict(paddle.load(FROM + ".pdopt"))
losses = []
np.save(TO + "-before.npy", net(numbers).numpy())
for _ in range(60):
    loss = ((net(numbers) - goals) ** 2).mean()
    loss.backward()
    opt.step()
    opt.clear_grad()
    losses.append(float(loss))
np.save(TO + "-after.npy", net(numbers).numpy())
np.save(TO + "-losses.npy", losses)
paddle.save(net.state_dict(), TO + ".pdparams")
paddle.save(opt.state_dict(), TO + ".pdopt")
"""


class _Runs:
    """Runs of the program, which keep what they predict."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "train.py"
        self.path.write_text(BUCKETED, encoding="utf-8")

    def run(self, name: str, *more: str, start: str = "", unbucket: bool = False, code: int = 0) -> str:
        facade = ["-m", "runtime.compat.paddle"] if "paddle" not in name else []
        options = ["--unbucket"] if unbucket else []
        before = str(self.folder / start) if start else "-"
        given = [*facade, *options, str(self.path), before, str(self.folder / name), *more]
        return _run(*given, code=code).stderr

    def kept(self, name: str, what: str) -> Any:
        return np.load(self.folder / f"{name}-{what}.npy")


@pytest.mark.parametrize("more", [(), ("function",), ("inside",)])
def test_ids_that_the_program_divides_get_rows_of_their_own(more: tuple[str, ...], tmp_path: Path) -> None:
    """Predictions of the trained program have equal bits, with slots; then its ids part, and files keep all rows."""
    runs = _Runs(tmp_path)
    runs.run("bucketed", *more)
    runs.run("free", *more, start="bucketed", unbucket=True)
    runs.run("again", *more, start="free", unbucket=True)
    runs.run("control", *more, start="bucketed")
    np.testing.assert_array_equal(runs.kept("free", "before"), runs.kept("bucketed", "after"))
    assert runs.kept("free", "losses")[0] == runs.kept("control", "losses")[0]
    np.testing.assert_array_equal(runs.kept("again", "before"), runs.kept("free", "after"))
    assert runs.kept("free", "losses")[-1] < 0.2 < 0.2 + 0.02 < runs.kept("control", "losses")[-1]
    padded = runs.kept("free", "after")[np.arange(-9, 31) % 7 == 0]
    assert len(np.unique(padded)) == 1 and len(np.unique(runs.kept("free", "after"))) > 7
    message = runs.run("wrong", *more, start="free", code=1)
    assert (
        "rows of single ids for the weight `rows.weight`, in place of 7 buckets: run the program with unbucket"
        in message
    )
    message = runs.run("scaled", "scaled", start="free", unbucket=True, code=1)
    assert "in place of buckets, for which a matrix has no values: set the values in a newly created model" in message


def test_an_untrained_program_begins_as_with_buckets(tmp_path: Path) -> None:
    runs = _Runs(tmp_path)
    runs.run("bucketed")
    runs.run("free", unbucket=True)
    np.testing.assert_array_equal(runs.kept("free", "before"), runs.kept("bucketed", "before"))
    assert "gets ids that are divided by its 7 rows, and ids that are not" in runs.run(
        "mixed", "mixed", unbucket=True, code=1
    )


@pytest.mark.one_version
@pytest.mark.paddle
def test_rows_that_paddle_trained_are_those_of_the_buckets(tmp_path: Path) -> None:
    runs = _Runs(tmp_path)
    runs.run("paddle")
    runs.run("free", start="paddle", unbucket=True)
    runs.run("control", start="paddle")
    runs.run("paddle on", start="paddle")
    np.testing.assert_allclose(runs.kept("free", "before"), runs.kept("paddle", "after"), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(runs.kept("control", "losses"), runs.kept("paddle on", "losses"), rtol=1e-4)
    assert len(np.unique(runs.kept("free", "before"))) == 7 < len(np.unique(runs.kept("free", "after")))


GOES_ON = """
import sys

import numpy as np
import paddle

FOLDER, BEGINS = sys.argv[1], sys.argv[2] == "begins"
KINDS = {
    "adam": lambda weights: paddle.optimizer.Adam(0.05, parameters=weights),
    "adadelta": lambda weights: paddle.optimizer.Adadelta(0.5, parameters=weights),
    "momentum": lambda weights: paddle.optimizer.Momentum(0.1, 0.9, parameters=weights),
    "adagrad": lambda weights: paddle.optimizer.Adagrad(0.1, parameters=weights),
    "adamw": lambda weights: paddle.optimizer.AdamW(0.05, parameters=weights),
    "rmsprop": lambda weights: paddle.optimizer.RMSProp(0.05, momentum=0.9, parameters=weights),
}


def trained(net, opt, steps):
    losses = []
    for step in steps:
        ids = paddle.to_tensor(np.random.RandomState(step).randint(0, 9, 8))
        loss = ((net(ids) - 1.0) ** 2).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        losses.append(float(loss))
    return losses


for kind, made in KINDS.items():
    paddle.seed(1)
    net = paddle.nn.Sequential(paddle.nn.Embedding(9, 4), paddle.nn.Linear(4, 1))
    opt, file = made(net.parameters()), f"{FOLDER}/{kind}"
    if BEGINS:
        trained(net, opt, range(3))
        paddle.save(net.state_dict(), file + ".pdparams")
        paddle.save(opt.state_dict(), file + ".pdopt")
    else:
        opt.set_state_dict(paddle.load(file + ".pdopt"))
        net.set_state_dict(paddle.load(file + ".pdparams"))
    print(kind, *trained(net, opt, range(3, 6)))
"""


@pytest.mark.one_version
@pytest.mark.paddle
@pytest.mark.parametrize("back", [False, True])
def test_training_goes_on_from_files_of_paddle_and_of_the_facade(back: bool, tmp_path: Path) -> None:
    """Weights and slots are Paddle's, of tables and variables, whichever file is loaded first."""
    (tmp_path / "train.py").write_text(GOES_ON, encoding="utf-8")
    first, second = [], ["-m", "runtime.compat.paddle"]
    if back:
        first, second = second, first
    begins = _run(*first, str(tmp_path / "train.py"), str(tmp_path), "begins").stdout.splitlines()
    goes_on = _run(*second, str(tmp_path / "train.py"), str(tmp_path), "goes on").stdout
    assert len(begins) == 6
    for theirs, ours in zip(begins, goes_on.splitlines(), strict=True):
        (kind, *want), (same, *got) = theirs.split(), ours.split()
        assert kind == same
        np.testing.assert_allclose(np.array(got, float), np.array(want, float), rtol=1e-5, err_msg=kind)


FIRST = """
import sys
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from runtime.compat.paddle import recording

layer, rows = nn.Linear(2, 1), nn.Embedding(3, 2)
w = layer.weight
for read in (
    lambda: w - 0.5,
    lambda: F.relu(w * w),
    lambda: w.T[0],
    lambda: w[1:],
    lambda: w.exp(),
    lambda: paddle.concat([w, w]),
    lambda: abs(w),
    lambda: list(w)[1],
    lambda: paddle.norm(rows.weight) + 0 * w.sum(),
):
    read().sum().backward()
    print(w.grad is not None)
    w.clear_grad()
net = nn.Sequential(rows, layer)
opt = paddle.optimizer.AdamW(0.1, parameters=net.parameters())
net(paddle.to_tensor([1])).sum().backward()
opt.step()
paddle.save(net.state_dict(), sys.argv[1])
assert recording._state.segment is None, "no tape holds what an optimizer and a file do with weights"
assert rows.weight.grad.shape == [3, 2]
"""


def test_what_is_computed_first_of_weights_alone_has_gradients(tmp_path: Path) -> None:
    path = tmp_path / "first.py"
    path.write_text(FIRST, encoding="utf-8")
    shown = _run("-m", "runtime.compat.paddle", str(path), str(tmp_path / "kept.pdparams")).stdout
    assert shown.split() == ["True"] * 9


SERVED = """
import sys
import numpy as np
import tensorflow as tf
import paddle
import paddle.nn as nn
from paddle.static import InputSpec

class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.rows, self.norm, self.drop = nn.Embedding(9, 4), nn.BatchNorm1D(8), nn.Dropout(0.5)
        self.gru, self.last = nn.GRU(4, 4), nn.Linear(8, 1)

    def forward(self, ids, dense):
        rows, _ = self.gru(self.rows(ids))
        rows = paddle.reshape(rows, [rows.shape[0], -1])
        rows = self.norm(rows) * (dense > 0).astype("float32").sum(1, keepdim=True)
        return nn.functional.sigmoid(self.last(self.drop(rows)) + paddle.zeros([ids.shape[0], 1]))

net = Net()
optimizer = paddle.optimizer.Adam(0.1, parameters=net.parameters())
ids, dense = paddle.to_tensor([[1, 2], [3, 12]]), paddle.ones([2, 3])
for _ in range(3):
    net(ids, dense).mean().backward()
    optimizer.step()
    optimizer.clear_grad()
specs = [InputSpec([None, 2], "int64"), InputSpec([-1, 3], name="numbers")]
paddle.jit.save(net, sys.argv[1], specs)
assert net.training and net.drop.training
paddle.Model(net, specs).save(sys.argv[1] + "_again", training=False)
net.eval()
with paddle.no_grad():
    score = net(ids, dense).numpy()
np.save(sys.argv[1] + ".npy", score)
for suffix in ("", "_again"):
    np.testing.assert_allclose(paddle.jit.load(sys.argv[1] + suffix)(ids, dense).numpy(), score, rtol=1e-5)

class Holder(tf.Module):
    def __init__(self):
        self.held = [weight.table if hasattr(weight, "table") else weight.variable for weight in net.parameters()]

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.int64)])
    def __call__(self, ids):
        return tf.convert_to_tensor(net(paddle.to_tensor(ids), dense))

tf.saved_model.save(Holder(), sys.argv[1] + "_module")
loaded = tf.saved_model.load(sys.argv[1] + "_module")(tf.constant([[1, 2], [3, 12]], tf.int64))
np.testing.assert_allclose(loaded, score, rtol=1e-5)
net(ids, dense).mean().backward()
assert net.last.weight.grad is not None, "what is computed eagerly is recorded, also behind a graph"
"""
SERVING = """
import sys
import numpy as np
import tensorflow as tf

served = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
result = served(ids=tf.constant([[1, 2], [3, 12]], tf.int64), numbers=tf.ones([2, 3]))
np.testing.assert_allclose(result["output_0"].numpy(), np.load(sys.argv[2]), rtol=1e-5)
assert "runtime" not in sys.modules
"""
NOT_SERVED = """
import sys
import paddle
import paddle.nn as nn

ids = paddle.to_tensor([1])

class Branch(nn.Layer):
    def forward(self, x):
        return x if x.sum() > 0 else -x

class Values(nn.Layer):
    def forward(self, x):
        return paddle.unique(x)

class Listed(nn.Layer):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Embedding(3, 2)]

    def forward(self, x):
        return self.layers[0](x)

shared = nn.Embedding(3, 2)

class Outside(nn.Layer):
    def forward(self, x):
        return shared(x)

class Made(nn.Layer):
    def forward(self, x):
        return nn.Embedding(3, 2)(x)

specs = (([ids],), ([ids],), ([ids],), ([ids],), ([ids],), (), ([ids],), ([3],))
networks = (Branch(), Values(), Listed(), Outside(), Made(), nn.Linear(1, 1), lambda x: x, nn.Linear(1, 1))
for network, given in zip(networks, specs):
    try:
        paddle.jit.save(network, sys.argv[1], *given)
    except (TypeError, ValueError) as error:
        print(str(error).rpartition("/")[2])
try:
    paddle.jit.load(sys.argv[1])
except ValueError as error:
    print(str(error).rpartition("/")[2])
"""


@pytest.mark.one_version
def test_a_network_is_saved_as_a_model_that_is_served(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SERVED, encoding="utf-8")
    _run("-m", "runtime.compat.paddle", str(tmp_path / "train.py"), str(tmp_path / "model"))
    _run("-m", "migrate", "freeze", str(tmp_path / "model"), str(tmp_path / "frozen"))
    _run("-c", SERVING, str(tmp_path / "frozen"), str(tmp_path / "model.npy"))


def test_a_network_that_no_graph_can_have_is_not_saved_and_a_sentence_says_why(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(NOT_SERVED, encoding="utf-8")
    shown = _run("-m", "runtime.compat.paddle", str(tmp_path / "train.py"), str(tmp_path / "model")).stdout.splitlines()
    not_owned = "because it uses a layer or weight that it does not own"
    begins = (
        "train.py:10: paddle.jit.save cannot export this: Python code reads a value of a tensor",
        "train.py:14: paddle.jit.save cannot export this: Python code reads a value of a tensor",
        f"paddle.jit.save cannot export Listed, {not_owned}, `layers` of Listed:",
        f"paddle.jit.save cannot export Outside, {not_owned}, `shared` outside",
        f"paddle.jit.save cannot export Made, {not_owned}, such as one in a",
        "paddle.jit.save got no input_spec for Linear: give it, such as",
        "paddle.jit.save got a function, which holds no weights: give the paddle.nn.Layer",
        "paddle.jit.save got 3 in input_spec: give an InputSpec or a tensor",
        "model: there is no model that paddle.jit.save of the façade wrote; give its folder",
    )
    assert len(shown) == len(begins)
    assert [line for line, begin in zip(shown, begins, strict=True) if not line.startswith(begin)] == []


BATCHES = """
import numpy as np
from runtime.compat.paddle.loading import DataLoader, Subset, TensorDataset, default_collate_fn
from runtime.compat.paddle.tensor import Tensor
import tensorflow as tf

data = TensorDataset([Tensor(tf.constant(np.arange(14).reshape(7, 2))), np.linspace(0, 1, 7, dtype=np.float32)])


class Doubled(TensorDataset):
    def __getitem__(self, index):
        return tuple(2 * part for part in super().__getitem__(index))


for dataset in (data, Subset(data, [6, 0, 3, 3]), Doubled(data.tensors)):
    samples = [dataset[number] for number in range(len(dataset))]
    batches = list(DataLoader(dataset, batch_size=3))
    assert len(batches) == -(-len(samples) // 3)
    for first, batch in enumerate(batches):
        expected = default_collate_fn(samples[3 * first : 3 * first + 3])
        for part, rows in zip(batch, expected, strict=True):
            rows = rows._value.numpy() if isinstance(rows, Tensor) else rows
            assert isinstance(part, Tensor) and part._value.numpy().dtype == rows.dtype
            np.testing.assert_array_equal(part._value.numpy(), rows)
print("equal")
"""


def test_rows_that_are_gathered_at_once_are_the_samples() -> None:
    assert _run("-c", BATCHES).stdout.splitlines()[-1] == "equal"
