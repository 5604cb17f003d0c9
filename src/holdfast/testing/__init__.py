"""The checks that every part of Holdfast passes, for parts of one's own: call them in a test."""

from holdfast.testing.input_parts import check_augmentation, check_source_format
from holdfast.testing.network_parts import check_backbone, check_head, check_neck
from holdfast.testing.scoring_parts import (
    check_classification_loss,
    check_localization_loss,
    check_metric,
)

__all__ = [
    "check_augmentation",
    "check_backbone",
    "check_classification_loss",
    "check_head",
    "check_localization_loss",
    "check_metric",
    "check_neck",
    "check_source_format",
]
