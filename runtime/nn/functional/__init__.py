"""Functions with Paddle's names, arguments, defaults and meaning, for tensors of a TensorFlow v1 graph.

Tensors, variables, parameters, arrays and numbers are taken alike. A size that is not known when the graph is built is
read at run time. `operators` holds Python's operators with Paddle's rules for dtypes.
"""

from __future__ import annotations

from runtime.nn.functional import (
    activation,
    class_loss,
    comparison,
    convolution,
    creation,
    drawing,
    elementwise,
    indexing,
    joining,
    loss,
    matrix,
    normalization,
    operators,
    pooling,
    reduction,
    scaling,
    sequence,
    shaping,
    subscript,
    unary,
)
from runtime.nn.functional.activation import *  # noqa: F403
from runtime.nn.functional.class_loss import *  # noqa: F403
from runtime.nn.functional.comparison import *  # noqa: F403
from runtime.nn.functional.convolution import *  # noqa: F403
from runtime.nn.functional.creation import *  # noqa: F403
from runtime.nn.functional.drawing import *  # noqa: F403
from runtime.nn.functional.elementwise import *  # noqa: F403
from runtime.nn.functional.indexing import *  # noqa: F403
from runtime.nn.functional.joining import *  # noqa: F403
from runtime.nn.functional.loss import *  # noqa: F403
from runtime.nn.functional.matrix import *  # noqa: F403
from runtime.nn.functional.normalization import *  # noqa: F403
from runtime.nn.functional.pooling import *  # noqa: F403
from runtime.nn.functional.reduction import *  # noqa: F403
from runtime.nn.functional.scaling import *  # noqa: F403
from runtime.nn.functional.sequence import *  # noqa: F403
from runtime.nn.functional.shaping import *  # noqa: F403
from runtime.nn.functional.subscript import *  # noqa: F403
from runtime.nn.functional.tensors import promoted, sizes
from runtime.nn.functional.unary import *  # noqa: F403

__all__ = ["operators", "promoted", "sizes"]
__all__ += activation.__all__
__all__ += class_loss.__all__
__all__ += comparison.__all__
__all__ += convolution.__all__
__all__ += creation.__all__
__all__ += drawing.__all__
__all__ += elementwise.__all__
__all__ += indexing.__all__
__all__ += joining.__all__
__all__ += loss.__all__
__all__ += matrix.__all__
__all__ += normalization.__all__
__all__ += pooling.__all__
__all__ += reduction.__all__
__all__ += scaling.__all__
__all__ += sequence.__all__
__all__ += shaping.__all__
__all__ += subscript.__all__
__all__ += unary.__all__
