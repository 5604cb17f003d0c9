"""The table of augmentations: the OD API's name -> a function from Sample and seed to Sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from holdfast.data.resize import as_written
from holdfast.data.sample import Sample
from holdfast.registry import Registry

Augmentation = Callable[..., Sample]  # (sample, seed, *, the fields of its message) -> Sample
F = TypeVar("F", bound=Augmentation)

AUGMENTATIONS: Registry[Augmentation] = Registry("augmentation")


def augmentation(function: F) -> F:
    """Register an augmentation under its own name, which is the field's name in pipeline.config.

    The function takes a sample with a decoded image, an int32 (2,) seed that alone decides every
    random choice, and the fields of the OD API's message as keywords. A keyword left out means what
    an unset field means there. The image keeps its dtype: uint8 in, rounded uint8 out; a caller
    who wants the OD API's unrounded numbers casts to float32 first. Only normalize_image and
    subtract_channel_mean leave the range 0..255, and always give float32.
    """
    plain = as_written(function)
    AUGMENTATIONS.register(function.__name__)(plain)
    return plain
