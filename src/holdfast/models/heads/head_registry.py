"""Heads of users' own; those of the OD API are built from config fields of their own."""

from __future__ import annotations

from collections.abc import Callable

import keras

from holdfast.registry import Registry

# (features, *, anchors_per_location, num_class_slots, code_size, settings, name, own keywords)
HeadFactory = Callable[..., keras.layers.Layer]

HEADS: Registry[HeadFactory] = Registry("head")


def head(name: str) -> Callable[[HeadFactory], HeadFactory]:
    """Register the decorated factory, or class, as a head; `--use head=NAME` chooses it.

    It is called with the neck's features (a sequence of Feature) and, as keywords, with
    anchors_per_location (of each feature map), num_class_slots (classes, and the background where
    there is one), code_size (numbers of a box code), settings (conv_hyperparams of the config's
    box predictor) and name; and with the keywords of --use. What it makes is called with the
    feature maps and `training`, and returns a HeadOutput.
    """

    def add(factory: HeadFactory) -> HeadFactory:
        return HEADS.register(name)(factory)

    return add
