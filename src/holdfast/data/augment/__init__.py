"""The OD API's data augmentations, each a function from Sample and seed to Sample."""

from holdfast.data.augment import (  # noqa: F401  (each fills the table)
    auto_augment,
    box_changes,
    colors,
    crops,
    flips,
    labels,
    noise,
    pads,
    scales,
    ssd_crops,
    tiles,
)
from holdfast.data.augment.augmentations import AUGMENTATIONS, Augmentation
from holdfast.data.augment.crops import Crop, FixedAspectRatioCrop
from holdfast.data.augment.ssd_crops import CropPad

__all__ = ["AUGMENTATIONS", "Augmentation", "Crop", "CropPad", "FixedAspectRatioCrop"]
