"""Detection models and input shapes in one line each, for tests to ask about."""

from __future__ import annotations

from holdfast.config.facts.input_sizes import InputShape
from holdfast.config.schema.model import DetectionModel
from holdfast.config.text.decode import decode

SSD_ANCHORS = (
    "anchor_generator { ssd_anchor_generator { num_layers: %d aspect_ratios: [1, 2, 0.5] } }"
)
FPN_ANCHORS = "anchor_generator { multiscale_anchor_generator { aspect_ratios: [1, 2, 0.5] } }"


def model(text: str) -> DetectionModel:
    message, problems, _ = decode(text, DetectionModel)
    assert not problems
    return message


def ssd(extractor: str, features: str = "", rest: str = "", size: int = 300) -> DetectionModel:
    resizer = f"image_resizer {{ fixed_shape_resizer {{ height: {size} width: {size} }} }}"
    return model(
        f"ssd {{ feature_extractor {{ type: '{extractor}' {features} }} {resizer} {rest} }}"
    )


def center_net(extractor: str) -> DetectionModel:
    return model(f"center_net {{ feature_extractor {{ type: '{extractor}' }} }}")


def faster_rcnn(extractor: str, features: str = "", rest: str = "") -> DetectionModel:
    return model(f"faster_rcnn {{ feature_extractor {{ type: '{extractor}' {features} }} {rest} }}")


def square(size: int) -> InputShape:
    return InputShape(size, size, fixed=True)
