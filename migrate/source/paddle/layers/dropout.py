"""Dropout."""

from __future__ import annotations

from migrate.source.paddle.layers.spec import LayerSpec, same

SPECS: tuple[LayerSpec, ...] = (
    LayerSpec("paddle.nn.Dropout(p=0.5, axis=None, mode='upscale_in_train', name=None)", same),
    LayerSpec("paddle.nn.Dropout2D(p=0.5, data_format='NCHW', name=None)", same),
)
