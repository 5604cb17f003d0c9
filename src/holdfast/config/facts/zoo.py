"""Which weights of the OD API's model zoo a config means."""

from __future__ import annotations

import re
from typing import NamedTuple

from holdfast.config.facts.input_sizes import input_shape
from holdfast.config.facts.networks import detector_of, extractor_of
from holdfast.config.recipes.fill import recipe_model
from holdfast.config.recipes.recipe_table import RECIPES
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.message import Message
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.ssd import Ssd

_FAMILIES = r"(?:ssd|ssdlite|efficientdet|faster_rcnn|mask_rcnn|rfcn|centernet)_"
_TF2_FOLDER = re.compile(rf"\b{_FAMILIES}\w+_coco17_tpu-\d+")
_TF1_FOLDER = re.compile(rf"\b{_FAMILIES}[\w.]+_20\d\d_\d\d_\d\d")


def zoo_weights(written: str, model: DetectionModel | None) -> str | None:
    """Name the archive that a checkpoint's path names, else that of the network; None if unknown.

    >>> zoo_weights("C:/me/ssd_mobilenet_v1_coco_2018_01_28/model.ckpt", None)
    'ssd_mobilenet_v1_coco_2018_01_28'
    """
    if found := _TF2_FOLDER.search(written) or _TF1_FOLDER.search(written):
        return found[0]
    return _weights_of_network(model) if model is not None else None


def _weights_of_network(model: DetectionModel) -> str | None:
    """Find the recipe of the same backbone and neck, with the head and input that are nearest."""
    here, wanted = input_shape(model), _network(model)
    if here is None or wanted is None:
        return None
    ranked = []
    for recipe in RECIPES.values():
        network = _network(recipe_model(recipe, num_classes=1))
        if network is not None and network.features == wanted.features:
            head = (network.head, network.stages) != (wanted.head, wanted.stages)
            differs = network.generation != wanted.generation, head
            ranked.append((*differs, abs(recipe.input_size - here.height), recipe))
    if not ranked:
        return None
    *_, nearest = min(ranked, key=lambda each: each[:3])
    return nearest.zoo or None


class _Network(NamedTuple):
    features: tuple[str, str, str | None, bool]  # family, backbone, neck, whether it is depthwise
    head: bool  # whether it is depthwise: SSDLite's only mark
    stages: int  # 3: it has masks
    generation: str


def _network(model: DetectionModel) -> _Network | None:
    detector = detector_of(model)
    known = extractor_of(detector)
    if detector is None or known is None:
        return None
    predictor = detector.box_predictor if isinstance(detector, Ssd) else None
    head = predictor.chosen("box_predictor_oneof") if predictor is not None else None
    return _Network(
        (known.architecture, known.backbone, known.neck, _is_depthwise(detector.feature_extractor)),
        _is_depthwise(head),
        detector.number_of_stages if isinstance(detector, FasterRcnn) else 1,
        known.generation,
    )


def _is_depthwise(part: Message | None) -> bool:
    return bool(getattr(part, "use_depthwise", False))
