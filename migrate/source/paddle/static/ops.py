"""Functions of static graphs: what a program is fed with, lookups in tables, sequences, and metrics that keep sums.

`runtime.nn.static` has them under the same names. Only lookups keep sequences (`lod`) there.
"""

from __future__ import annotations

from collections.abc import Mapping

from migrate.source.paddle.abstract.values import Refuse, Size, Tensor, Value
from migrate.source.paddle.ops.shapes import dtype_name, tensor
from migrate.source.paddle.ops.spec import Arguments, Op, function

_NN = "paddle.static.nn"
_POOLS = ("sum", "average", "sqrt", "max", "last", "first")


def _data(bound: Arguments) -> Tensor:
    level = bound["lod_level"]
    if level not in (0, 1):
        raise Refuse(f"`{bound['name']}` has lod_level={level!r}; sequences of sequences are not supported")
    sizes = tuple(None if size is None or isinstance(size, Size) or size < 0 else size for size in bound["shape"])
    return Tensor(sizes, dtype_name(bound["dtype"], "float32"), fed=True, lod=level)


def _sizes(bound: Arguments) -> tuple[int, int]:
    size = bound["size"]
    if not isinstance(size, (list, tuple)) or len(size) != 2 or not all(isinstance(one, int) for one in size):
        raise Refuse("the size of these rows must be two numbers")
    if dtype_name(bound["dtype"]) != "float32":
        raise Refuse("rows of tables are float32")
    return size[0], size[1]


def _sparse_embedding(bound: Arguments) -> Tensor:
    ids = tensor(bound["input"])
    if ids.shape is not None and (len(ids.shape) < 2 or ids.shape[-1] != 1):
        raise Refuse("the last size of these ids is not 1; Paddle refuses them, too")
    dim = _sizes(bound)[1]
    return Tensor(None if ids.shape is None else (*ids.shape[:-1], dim), "float32", lod=ids.lod)


def _embedding(bound: Arguments) -> Tensor:
    ids, dim = tensor(bound["input"]), _sizes(bound)[1]
    return Tensor(None if ids.shape is None else (*ids.shape, dim), "float32", lod=ids.lod)


def _sequence_pool(bound: Arguments) -> Tensor:
    x, kind = tensor(bound["input"]), bound["pool_type"]
    if not x.lod:
        raise Refuse("this tensor has no sequences (`lod_level=1`) here; pool what the lookup returns itself")
    if not isinstance(kind, str) or kind.lower() not in _POOLS:
        raise Refuse(f"pool_type={kind!r} is none of {', '.join(_POOLS)}")
    return Tensor(None if x.shape is None else (None, *x.shape[1:]), x.dtype)


def _cvm(bound: Arguments) -> Tensor:
    x = tensor(bound["input"])
    if x.shape is None or len(x.shape) != 2 or x.shape[1] is None or x.shape[1] < 2:
        raise Refuse("the input of `continuous_value_model` is not [n, d] with shows and clicks in front")
    return Tensor((x.shape[0], x.shape[1] - (0 if bound["use_cvm"] else 2)), x.dtype, lod=x.lod)


def _data_norm(bound: Arguments) -> Tensor:
    x, attr = tensor(bound["input"]), bound["param_attr"]
    if x.shape is None or len(x.shape) != 2 or x.shape[1] is None or x.dtype != "float32":
        raise Refuse("the input of `data_norm` is not float32 [n, d] with a known d")
    if bound["slot_dim"] > 0 or bound["sync_stats"]:
        raise Refuse("`slot_dim` and `sync_stats` of `data_norm` are not supported")
    if bound["act"] not in (None, "relu", "sigmoid", "tanh") or not (attr is None or isinstance(attr, Mapping)):
        raise Refuse("this `act` or `param_attr` of `data_norm` is not supported")
    return Tensor(x.shape, x.dtype)


def _fc(bound: Arguments) -> Tensor:
    x, keeps = tensor(bound["x"]), bound["num_flatten_dims"]
    if x.shape is None or not 1 <= keeps < len(x.shape) or None in x.shape[keeps:] or x.dtype != "float32":
        raise Refuse("the input of `fc` is not float32 with known sizes behind those that it keeps")
    if bound["activation"] not in (None, "relu", "sigmoid", "tanh", "softmax"):
        raise Refuse(f"activation={bound['activation']!r} of `fc` is not supported")
    return Tensor((*x.shape[:keeps], bound["size"]), x.dtype)


def _accuracy(bound: Arguments) -> Tensor:
    tensor(bound["input"])
    if bound["correct"] is not None or bound["total"] is not None:
        raise Refuse("`accuracy` with `correct` or `total` is not supported")
    return Tensor((), "float32")


def _auc(bound: Arguments) -> Value:
    x, steps, bins = tensor(bound["input"]), bound["slide_steps"], bound["num_thresholds"] + 1
    if bound["curve"] != "ROC" or bound["ins_tag_weight"] is not None:
        raise Refuse("`auc` of another curve than ROC, or with `ins_tag_weight`, is not supported")
    if x.shape is not None and len(x.shape) != 2:
        raise Refuse("the input of `auc` is not [n, k]")
    del steps
    return Tensor((), "float64"), Tensor((), "float64"), [Tensor((1, bins), "int64") for _ in range(4)]


def _bundle(bound: Arguments) -> Value:
    if bound["ins_tag_weight"] is not None:
        raise Refuse("`ctr_metric_bundle` with `ins_tag_weight` is not supported")
    return tuple(Tensor((1,), "float32") for _ in range(6))


OPS: tuple[Op, ...] = (
    Op("paddle.static.data(name, shape, dtype=None, lod_level=0)", _data, helper="static.data"),
    Op(
        f"{_NN}.sparse_embedding(input, size, padding_idx=None, is_test=False, entry=None, "
        "table_class='MemorySparseTable', param_attr=None, dtype='float32', slot=None)",
        _sparse_embedding,
        helper="static.nn.sparse_embedding",
    ),
    Op(
        f"{_NN}.embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, "
        "dtype='float32')",
        _embedding,
        helper="static.nn.embedding",
    ),
    Op(
        f"{_NN}.sequence_pool(input, pool_type, is_test=False, pad_value=0.0)",
        _sequence_pool,
        aliases=(f"{_NN}.sequence_lod.sequence_pool",),
        helper="static.nn.sequence_pool",
    ),
    Op(f"{_NN}.continuous_value_model(input, cvm, use_cvm=True)", _cvm, helper="static.nn.continuous_value_model"),
    Op(
        f"{_NN}.data_norm(input, act=None, epsilon=1e-05, param_attr=None, data_layout='NCHW', in_place=False, "
        "name=None, moving_mean_name=None, moving_variance_name=None, do_model_average_for_mean_and_var=True, "
        "slot_dim=-1, sync_stats=False, summary_decay_rate=0.9999999, enable_scale_and_shift=False)",
        _data_norm,
        helper="static.nn.data_norm",
    ),
    Op(
        "paddle.static.auc(input, label, curve='ROC', num_thresholds=4095, topk=1, slide_steps=1, ins_tag_weight=None)",
        _auc,
        helper="static.auc",
    ),
    function("static.ctr_metric_bundle(input, label, ins_tag_weight=None)", _bundle, helper="static.ctr_metric_bundle"),
    Op(
        f"{_NN}.fc(x, size, num_flatten_dims=1, weight_attr=None, bias_attr=None, activation=None, name=None)",
        _fc,
        helper="static.nn.fc",
    ),
    Op("paddle.static.accuracy(input, label, k=1, correct=None, total=None)", _accuracy, helper="static.accuracy"),
    function(
        "metric.accuracy(input, label, k=1, correct=None, total=None, name=None)", _accuracy, helper="static.accuracy"
    ),
)
