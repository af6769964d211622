"""Functions of TensorFlow that compute tensors from tensors and do nothing else, and those at which gradients end."""

from __future__ import annotations

_ARRAYS = """
    add add_n boolean_mask broadcast_to cast clip_by_norm clip_by_value concat convert_to_tensor cumsum diag_part
    expand_dims gather gather_nd identity ones_like pad repeat reshape reverse scatter_nd slice sort split squeeze stack
    stop_gradient strided_slice tensor_scatter_nd_update tile transpose unstack where zeros_like
"""
_ARITHMETIC = """
    abs cos div divide einsum erf exp log log1p matmul maximum minimum multiply negative norm pow realdiv reciprocal
    reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum rsqrt scalar_mul sigmoid sign sin sqrt
    square squared_difference subtract tanh tensordot truediv
    linalg.l2_normalize linalg.matmul linalg.matvec linalg.norm linalg.trace
    math.abs math.add math.divide math.divide_no_nan math.exp math.l2_normalize math.log math.multiply
    math.reduce_logsumexp math.reduce_max math.reduce_mean math.reduce_min math.reduce_std math.reduce_sum
    math.reduce_variance math.rsqrt math.scalar_mul math.sigmoid math.softmax math.sqrt math.square math.subtract
    math.tanh math.top_k math.zero_fraction
"""
_NETWORKS = """
    nn.bias_add nn.dropout nn.elu nn.embedding_lookup nn.l2_loss nn.l2_normalize nn.leaky_relu nn.log_softmax nn.moments
    nn.relu nn.selu nn.sigmoid nn.sigmoid_cross_entropy_with_logits nn.softmax nn.softmax_cross_entropy_with_logits
    nn.softmax_cross_entropy_with_logits_v2 nn.softplus nn.sparse_softmax_cross_entropy_with_logits nn.tanh nn.top_k
    nn.xw_plus_b nn.zero_fraction sparse.sparse_dense_matmul sparse_tensor_dense_matmul
"""
_LAYERS = """
    contrib.layers.batch_norm contrib.layers.fully_connected layers.batch_normalization layers.dense layers.dropout
    layers.flatten
"""
#: Functions whose result is a tensor that gradients may reach. Layers also make variables.
COMPUTING = frozenset((_ARRAYS + _ARITHMETIC + _NETWORKS + _LAYERS).split())
#: Arguments by which a function of `COMPUTING` adds its result to the losses, or to a collection of any use.
COLLECTING = frozenset({"activity_regularizer", "outputs_collections"})

_TESTS = """
    argmax argmin equal greater greater_equal histogram_fixed_width less less_equal math.argmax math.confusion_matrix
    math.equal math.in_top_k nn.in_top_k not_equal print rank shape size
"""
#: Functions whose results no gradient reaches, and which keep nothing that is differentiated later.
_ENDS = frozenset(_TESTS.split())
_NAMESPACES = ("metrics.", "summary.", "contrib.summary.")


def is_end(name: str) -> bool:
    """True for the canonical name of a function that gradients do not pass: metrics, summaries, comparisons."""
    return name in _ENDS or name.startswith(_NAMESPACES)
