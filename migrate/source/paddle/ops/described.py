"""What `runtime.nn` has under Paddle's name and with its arguments: its calls stay; what asks for the surroundings."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Value
from migrate.source.paddle.ops.spec import Form, Op

_INIT, _LR = "paddle.nn.initializer", "paddle.optimizer.lr"
_ADAM = "learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, parameters=None"
_END = "weight_decay=None, grad_clip=None, name=None"
_SIGNATURES = (
    "paddle.ParamAttr(name=None, initializer=None, learning_rate=1.0, regularizer=None, trainable=True, "
    "do_model_average=True, need_clip=True)",
    f"{_INIT}.Constant(value=0.0)",
    f"{_INIT}.Normal(mean=0.0, std=1.0, name=None)",
    f"{_INIT}.TruncatedNormal(mean=0.0, std=1.0, a=-2.0, b=2.0, name=None)",
    f"{_INIT}.Uniform(low=-1.0, high=1.0, name=None)",
    f"{_INIT}.XavierUniform(fan_in=None, fan_out=None, name=None)",
    f"{_INIT}.XavierNormal(fan_in=None, fan_out=None, name=None)",
    f"{_INIT}.KaimingUniform(fan_in=None, negative_slope=0.0, nonlinearity='relu')",
    f"{_INIT}.KaimingNormal(fan_in=None, negative_slope=0.0, nonlinearity='relu')",
    f"{_INIT}.Assign(value, name=None)",
    "paddle.regularizer.L1Decay(coeff=0.0)",
    "paddle.regularizer.L2Decay(coeff=0.0)",
    "paddle.nn.ClipGradByValue(max, min=None)",
    "paddle.nn.ClipGradByNorm(clip_norm)",
    "paddle.nn.ClipGradByGlobalNorm(clip_norm, group_name='default_group', auto_skip_clip=False)",
    f"paddle.optimizer.SGD(learning_rate=0.001, parameters=None, {_END})",
    f"paddle.optimizer.Momentum(learning_rate=0.001, momentum=0.9, parameters=None, use_nesterov=False, {_END})",
    "paddle.optimizer.Adagrad(learning_rate, epsilon=1e-06, parameters=None, weight_decay=None, grad_clip=None, "
    "name=None, initial_accumulator_value=0.0)",
    f"paddle.optimizer.Adam({_ADAM}, weight_decay=None, grad_clip=None, lazy_mode=False, name=None)",
    f"paddle.optimizer.AdamW({_ADAM}, weight_decay=0.01, lr_ratio=None, apply_decay_param_fun=None, grad_clip=None, "
    "lazy_mode=False, multi_precision=False, name=None)",
    f"paddle.optimizer.Adamax({_ADAM}, {_END})",
    f"paddle.optimizer.Adadelta(learning_rate=0.001, epsilon=1e-06, rho=0.95, parameters=None, {_END})",
    "paddle.optimizer.RMSProp(learning_rate, rho=0.95, epsilon=1e-06, momentum=0.0, centered=False, parameters=None, "
    f"{_END})",
    "paddle.optimizer.Lamb(learning_rate=0.001, lamb_weight_decay=0.01, beta1=0.9, beta2=0.999, epsilon=1e-06, "
    "parameters=None, grad_clip=None, exclude_from_weight_decay_fn=None, multi_precision=False, always_adapt=False, "
    "name=None)",
    f"{_LR}.PiecewiseDecay(boundaries, values, last_epoch=-1, verbose=False)",
    f"{_LR}.ExponentialDecay(learning_rate, gamma, last_epoch=-1, verbose=False)",
    f"{_LR}.NaturalExpDecay(learning_rate, gamma, last_epoch=-1, verbose=False)",
    f"{_LR}.InverseTimeDecay(learning_rate, gamma, last_epoch=-1, verbose=False)",
    f"{_LR}.PolynomialDecay(learning_rate, decay_steps, end_lr=0.0001, power=1.0, cycle=False, last_epoch=-1, "
    "verbose=False)",
    f"{_LR}.CosineAnnealingDecay(learning_rate, T_max, eta_min=0, last_epoch=-1, verbose=False)",
    f"{_LR}.StepDecay(learning_rate, step_size, gamma=0.1, last_epoch=-1, verbose=False)",
    f"{_LR}.MultiStepDecay(learning_rate, milestones, gamma=0.1, last_epoch=-1, verbose=False)",
    f"{_LR}.NoamDecay(d_model, warmup_steps, learning_rate=1.0, last_epoch=-1, verbose=False)",
    f"{_LR}.LinearWarmup(learning_rate, warmup_steps, start_lr, end_lr, last_epoch=-1, verbose=False)",
    "paddle.metric.Auc(curve='ROC', num_thresholds=4095, name='auc')",
    "paddle.metric.Accuracy(topk=(1,), name=None)",
    "paddle.metric.Precision(name='precision')",
    "paddle.metric.Recall(name='recall')",
    "paddle.no_grad()",
    "paddle.distributed.CountFilterEntry(count_filter)",
    "paddle.distributed.ProbabilityEntry(probability)",
    "paddle.distributed.ShowClickEntry(show_name, click_name)",
)


DESCRIBED: dict[str, Op] = {op.name: op for op in (Op(signature, lambda bound: None) for signature in _SIGNATURES)}


def _constant(signature: str, value: Value, tf: str = "", aliases: tuple[str, ...] = ()) -> Op:
    """A function that gives the same for any arguments; in TensorFlow it is `tf`, or else the value."""
    return Op(signature, lambda bound: value, (Form(tf or repr(value), ignored=True),), aliases=aliases)


#: What programs ask of the device, the default dtype, seeds: a graph is built for any device.
ENVIRONMENT: tuple[Op, ...] = (
    _constant("paddle.distributed.get_rank(group=None)", 0, "nn.get_rank()"),
    _constant("paddle.distributed.get_world_size(group=None)", 1, "nn.get_world_size()"),
    _constant("paddle.is_compiled_with_custom_device(device_type)", False),
    *(_constant(f"paddle.is_compiled_with_{kind}()", False) for kind in ("cuda", "xpu", "rocm", "ipu", "npu")),
    _constant("paddle.get_device()", "cpu", aliases=("paddle.device.get_device",)),
    _constant("paddle.get_default_dtype()", "float32"),
    _constant("paddle.in_dynamic_mode()", True),
    _constant("paddle.set_device(device)", None, aliases=("paddle.device.set_device",)),
    _constant("paddle.seed(seed)", None, "tf.set_random_seed(seed)"),
)
