"""What a file of one's own parts imports: a decorator for each kind, and what parts are made of."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.data.augment.augmentations import augmentation
    from holdfast.data.sample import Sample
    from holdfast.data.sources.annotated_objects import Box
    from holdfast.data.sources.data_folder import open_folder
    from holdfast.data.sources.label_texts import read_texts, texts_of_images
    from holdfast.data.sources.listing import Mark, build_source
    from holdfast.data.sources.source import Entry, Reading, Source
    from holdfast.data.sources.source_formats import OpenOptions, ending, source_format
    from holdfast.doctor.case import Case
    from holdfast.doctor.check import check
    from holdfast.doctor.finding import Finding, Fix
    from holdfast.evaluation.metrics.compared_objects import FoundObjects, LabeledObjects
    from holdfast.evaluation.metrics.metrics_set import metric
    from holdfast.losses.loss_registry import classification_loss, localization_loss
    from holdfast.models.backbones.backbone import Backbone, Endpoint
    from holdfast.models.backbones.backbone_spec import backbone
    from holdfast.models.backbones.normalization import (
        BY_DEVIATION,
        MINUS_MEAN,
        TO_UNIT_RANGE,
        Normalization,
    )
    from holdfast.models.features import Feature
    from holdfast.models.heads.head_registry import head
    from holdfast.models.heads.output import HeadOutput, join_levels
    from holdfast.models.layers.block import Block
    from holdfast.models.layers.convolution import Convolution, LayerSettings
    from holdfast.models.necks.neck_registry import neck

__all__ = [
    "BY_DEVIATION",
    "MINUS_MEAN",
    "TO_UNIT_RANGE",
    "Backbone",
    "Block",
    "Box",
    "Case",
    "Convolution",
    "Endpoint",
    "Entry",
    "Feature",
    "Finding",
    "Fix",
    "FoundObjects",
    "HeadOutput",
    "LabeledObjects",
    "LayerSettings",
    "Mark",
    "Normalization",
    "OpenOptions",
    "Reading",
    "Sample",
    "Source",
    "augmentation",
    "backbone",
    "build_source",
    "check",
    "classification_loss",
    "ending",
    "head",
    "join_levels",
    "localization_loss",
    "metric",
    "neck",
    "open_folder",
    "read_texts",
    "source_format",
    "texts_of_images",
]

# Loaded when first used: a file with a metric alone needs no Keras.
_HOMES = {
    "BY_DEVIATION": "holdfast.models.backbones.normalization",
    "Backbone": "holdfast.models.backbones.backbone",
    "Block": "holdfast.models.layers.block",
    "Box": "holdfast.data.sources.annotated_objects",
    "Case": "holdfast.doctor.case",
    "Convolution": "holdfast.models.layers.convolution",
    "Endpoint": "holdfast.models.backbones.backbone",
    "Entry": "holdfast.data.sources.source",
    "Feature": "holdfast.models.features",
    "Finding": "holdfast.doctor.finding",
    "Fix": "holdfast.doctor.finding",
    "FoundObjects": "holdfast.evaluation.metrics.compared_objects",
    "HeadOutput": "holdfast.models.heads.output",
    "LabeledObjects": "holdfast.evaluation.metrics.compared_objects",
    "LayerSettings": "holdfast.models.layers.convolution",
    "MINUS_MEAN": "holdfast.models.backbones.normalization",
    "Mark": "holdfast.data.sources.listing",
    "Normalization": "holdfast.models.backbones.normalization",
    "OpenOptions": "holdfast.data.sources.source_formats",
    "Reading": "holdfast.data.sources.source",
    "Sample": "holdfast.data.sample",
    "Source": "holdfast.data.sources.source",
    "TO_UNIT_RANGE": "holdfast.models.backbones.normalization",
    "augmentation": "holdfast.data.augment.augmentations",
    "backbone": "holdfast.models.backbones.backbone_spec",
    "build_source": "holdfast.data.sources.listing",
    "check": "holdfast.doctor.check",
    "classification_loss": "holdfast.losses.loss_registry",
    "ending": "holdfast.data.sources.source_formats",
    "head": "holdfast.models.heads.head_registry",
    "join_levels": "holdfast.models.heads.output",
    "localization_loss": "holdfast.losses.loss_registry",
    "metric": "holdfast.evaluation.metrics.metrics_set",
    "neck": "holdfast.models.necks.neck_registry",
    "open_folder": "holdfast.data.sources.data_folder",
    "read_texts": "holdfast.data.sources.label_texts",
    "source_format": "holdfast.data.sources.source_formats",
    "texts_of_images": "holdfast.data.sources.label_texts",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
