from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    width: int
    experts: int = 2
    size: int = 4
    mixing: str = "softmax"
