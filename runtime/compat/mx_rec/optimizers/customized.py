"""`CustomizedOptimizer`: Rec SDK's base class for users' own optimizers; it can be imported, but not instantiated."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["CustomizedOptimizer"]


class CustomizedOptimizer:
    """A base class to combine with one of TensorFlow's optimizers."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: such optimizers gather and scatter in a table's variable, which holds no rows here.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            f"the optimizer {cls.__name__} updates the variable of a table itself, which holds no rows here: use one "
            "of mx_rec.optimizers, for SGD with weight decay gradient_descent.create_hash_optimizer(weight_decay=...)"
        )
