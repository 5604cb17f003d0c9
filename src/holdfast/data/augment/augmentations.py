"""The table of augmentations: the OD API's name -> a function from Sample and seed to Sample."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from holdfast.data.augment.views import with_pixels
from holdfast.data.input.resize import as_written
from holdfast.data.sample import Sample, Tensor
from holdfast.registry import Registry

Augmentation = Callable[..., Sample]  # (sample, seed, *, the fields of its message) -> Sample
F = TypeVar("F", bound=Augmentation)

AUGMENTATIONS: Registry[Augmentation] = Registry("augmentation")


def augmentation(function: F) -> F:
    """Register an augmentation under its own name, which is the field's name in pipeline.config.

    The function takes a sample with a decoded image (one that is still a view is decoded first), an
    int32 (2,) seed that alone decides every random choice, and the fields of the OD API's message
    as keywords. A keyword left out means what an unset field means there. The image keeps its
    dtype: uint8 in, rounded uint8 out; a caller who wants the OD API's unrounded numbers casts to
    float32 first. Only normalize_image and subtract_channel_mean leave the range 0..255, and always
    give float32.
    """

    @wraps(function)
    def on_pixels(sample: Sample, seed: Tensor, **fields: Any) -> Sample:
        return function(with_pixels(sample), seed, **fields)

    return view_augmentation(cast(F, on_pixels))


def view_augmentation(function: F) -> F:
    """Register an augmentation that also takes a sample whose image is a view, and leaves it one.

    With the same seed, decoding before and decoding after must give the same sample.
    """
    plain = as_written(function)
    AUGMENTATIONS.register(function.__name__)(plain)
    return plain
