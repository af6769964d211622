"""Words of users and items, and labels whose truth is known; AUC and loss of scores."""

from __future__ import annotations

from typing import Any

import numpy as np

Batch = tuple[Any, ...]  #: words of each column, and labels at the end


class World:
    """Words with latent vectors of three numbers, and labels drawn from their products."""

    names = ("u", "i")
    #: Whether a word tells something by itself, and how far apart the numbers of rows begin.
    linear, spread = False, 0.3

    def __init__(self, users: int, items: int, held_out: int, seed: int) -> None:
        """Draw the vectors, and samples that no model trains on."""
        self.sizes = users, items
        self._random = np.random.default_rng(seed)
        self._latent = [self._random.normal(size=[size, 3]) for size in self.sizes]
        self.held_out = self.batch(held_out)

    def batch(self, size: int) -> Batch:
        """Return words of users and of items, and labels; some words are more frequent than others."""
        numbers = [self._random.zipf(1.2, size) * 7919 % most for most in self.sizes]
        users, items = (latent[number] for latent, number in zip(self._latent, numbers, strict=True))
        chance = 1 / (1 + np.exp(-(users * items).sum(1)))
        labels = (self._random.random(size) < chance).astype(np.float32)
        words = [np.char.add(prefix, number.astype(str)) for prefix, number in zip("ui", numbers, strict=True)]
        return words[0], words[1], labels


def auc(scores: Any, labels: Any) -> float:
    """Return the area under the curve of hits over false alarms."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores)] = np.arange(1, len(scores) + 1)
    ones = labels.sum()
    return float((ranks[labels == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(labels) - ones)))


def log_loss(scores: Any, labels: Any) -> float:
    """Return the mean cross entropy of logits."""
    return float(np.mean(np.logaddexp(0, scores) - labels * scores))
