"""Turn the config's center_net into a detector."""

from __future__ import annotations

from pathlib import Path

import keras

from holdfast.config.facts.extractors import Extractor
from holdfast.config.facts.input_sizes import InputShape, input_shape
from holdfast.config.facts.networks import extractor_of
from holdfast.config.schema.center_net import CenterNet, CenterNetFeatureExtractor
from holdfast.config.schema.image_resizer import ImageResizer
from holdfast.config.schema.model import DetectionModel
from holdfast.config.validate.center_net_fields import center_net_problems
from holdfast.data.input.build_input import build_resizer
from holdfast.errors import HoldfastError
from holdfast.losses.build_losses import Choices
from holdfast.models.backbones.normalization import Normalization
from holdfast.models.detectors.center_net.build_center_net_network import (
    CenterNetNetwork,
    build_center_net_network,
)
from holdfast.models.detectors.center_net.build_tasks import build_prediction_specs, build_tasks
from holdfast.models.detectors.center_net.center_net_detector import (
    CenterNetDetector,
    CenterNetSettings,
)
from holdfast.models.heads.heatmap_head import HeatmapHead
from holdfast.models.inference.build_post_processing import build_suppression
from holdfast.models.inference.preprocessing import Preprocessing
from holdfast.models.layers.batch_norm import freeze as freeze_batch_norms
from holdfast.models.part_names import LegacyNames
from holdfast.registry import NOT_FOUND_FIX

_UNLIMITED_SIDE = 512  # an input to build by, where the resizer sets no size


def build_center_net(
    model: DetectionModel, config: CenterNet, folder: Path, freeze: bool, choices: Choices = ()
) -> CenterNetDetector:
    """Make the detector; folder: of the config, from which its label map is looked up as well."""
    for choice in choices:
        if choice.kind != "augmentation":
            raise HoldfastError(
                f"--use {choice}: CenterNet has its own heads and losses.",
                fix="Leave it out, or use a single-stage detector.",
            )
    for problem in center_net_problems(config):
        if problem.severity == "error":
            raise HoldfastError(
                f"center_net.{problem.path}: {problem.message}.", fix=f"{problem.fix.capitalize()}."
            )
    known = extractor_of(config)
    if known is None:
        name = config.feature_extractor.type if config.feature_extractor else ""
        raise HoldfastError(
            f"There is no CenterNet feature extractor {name!r}.",
            fix=f"See docs/models.md. {NOT_FOUND_FIX}.",
        )
    network = build_center_net_network(
        config.feature_extractor or CenterNetFeatureExtractor(), known
    )
    tasks = build_tasks(config, folder)
    specs = build_prediction_specs(config, tasks)
    head = HeatmapHead(
        specs, num_maps=network.num_maps, use_depthwise=config.use_depthwise, name="head"
    )
    shape = input_shape(model) or InputShape(_UNLIMITED_SIDE, _UNLIMITED_SIDE, fixed=False)
    settings = CenterNetSettings(
        tasks=tasks,
        quantities=tuple(spec.name for spec in specs),
        preprocessing=_preprocessing(config.image_resizer or ImageResizer(), network),
        legacy=_legacy(known),
        input_shape=(shape.height, shape.width),
        multiple=network.multiple,
        suppression=build_suppression(after) if (after := config.post_processing) else None,
    )
    detector = CenterNetDetector(network.backbone, network.neck, head, settings, name="detector")
    if freeze:
        freeze_batch_norms(detector)
    detector(keras.KerasTensor((1, shape.height, shape.width, 3), "float32"))
    return detector


def _legacy(known: Extractor) -> LegacyNames:
    return LegacyNames(backbone=known.backbone, neck=known.neck or "", head=known.head)


def _preprocessing(resizer: ImageResizer, network: CenterNetNetwork) -> Preprocessing:
    """Make the preprocessing; unlike others, CenterNet pads first and then normalizes."""
    chosen = resizer.chosen("image_resizer_oneof")
    color = getattr(chosen, "per_channel_pad_value", ()) or (0.0, 0.0, 0.0)
    return Preprocessing(
        resize=build_resizer(resizer),
        normalization=network.normalization,
        padding=None
        if resizer.fixed_shape_resizer is not None
        else _normalized(color, network.normalization),
    )


def _normalized(color: tuple[float, ...], by: Normalization) -> tuple[float, ...]:
    turned = color[::-1] if by.is_reversed else color
    return tuple(
        value * scale + offset
        for value, scale, offset in zip(turned, by.scale, by.offset, strict=True)
    )
