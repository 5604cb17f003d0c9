"""What a TFLite file cannot carry, said before any work; and how far one may be off."""

from __future__ import annotations

from dataclasses import replace

from holdfast.config.facts.input_sizes import input_shape
from holdfast.config.facts.networks import detector_of
from holdfast.config.schema.box_coder import FasterRcnnBoxCoder
from holdfast.config.schema.center_net import CenterNet
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.ssd import Ssd
from holdfast.errors import HoldfastError
from holdfast.export.client_input import ClientInput
from holdfast.export.comparison import Tolerance
from holdfast.export.export_choices import ExportPrecision, ExportSettings
from holdfast.runtimes.litert_model import require_litert

# Measured with published weights of COCO (SSD MobileNet V2, SSDLite) over 418 objects in
# photographs: scores before suppression up to 0.006, 0.12 and 0.28 off, boxes' IoU at least 0.69,
# 0.50 and 0.50, and 0.95, 0.86 and 0.70 above a score of 0.5; and no object was alone. Where
# suppression hesitates it may keep another box, by the zoo's thresholds one that overlaps by 0.6.
_OTHER_BOX, _SAME_BOX = 0.5, 0.9
_SURE_KEYPOINT = 0.2
_FEWER_BITS = Tolerance(
    iou=_OTHER_BOX,
    covered_iou=_OTHER_BOX,
    same_box_iou=_SAME_BOX,
    least_keypoint_score=_SURE_KEYPOINT,
)
TOLERANCES = {
    ExportPrecision.FLOAT32: Tolerance(),
    ExportPrecision.FLOAT16: replace(_FEWER_BITS, score=0.01, sure_iou=0.9, keypoint=0.01),
    ExportPrecision.DYNAMIC: replace(_FEWER_BITS, score=0.25, sure_iou=0.7, keypoint=0.1),
    ExportPrecision.INT8: replace(_FEWER_BITS, score=0.35, sure_iou=0.6, keypoint=0.1),
}


def refuse_for_tflite(config: TrainEvalPipelineConfig, settings: ExportSettings) -> None:
    """Refuse what has no TFLite form."""
    require_litert()
    if settings.input_type is not ClientInput.IMAGE_TENSOR:
        raise HoldfastError(
            f"A TFLite file takes images, and no {settings.input_type}.",
            fix="Leave --input out, or choose --format saved_model.",
        )
    detector = detector_of(config.model) if config.model else None
    match detector:
        case FasterRcnn():
            raise HoldfastError(
                "A detector of two stages has no TFLite form: the regions that its second stage "
                "looks at are cut by an operation that TFLite has not.",
                fix="Choose --format saved_model or onnx, or train an SSD or a CenterNet.",
            )
        case Ssd():
            _refuse_ssd(detector)
        case CenterNet():
            _refuse_centers(detector)
    shape = input_shape(config.model) if config.model else None
    if shape is None or not shape.fixed:
        raise HoldfastError(
            "A TFLite file has an input of one size, and the image_resizer makes images of many.",
            fix="Choose a fixed_shape_resizer, or a keep_aspect_ratio_resizer with "
            "pad_to_max_dimension: true, with --set model.….image_resizer.….",
        )
    resizer = detector.image_resizer if detector else None
    chosen = resizer.chosen("image_resizer_oneof") if resizer else None
    if getattr(chosen, "convert_to_grayscale", False):
        raise HoldfastError(
            "TFLite files are written for RGB images, and the image_resizer makes gray ones.",
            fix="Choose --format saved_model.",
        )


def _refuse_ssd(detector: Ssd) -> None:
    chosen = detector.box_coder.chosen("box_coder_oneof") if detector.box_coder else None
    if not isinstance(chosen, FasterRcnnBoxCoder):
        raise HoldfastError(
            "TFLite's suppression decodes the faster_rcnn_box_coder alone, and the config has "
            "another.",
            fix="Choose --format saved_model.",
        )
    found = detector.post_processing and detector.post_processing.batch_non_max_suppression
    if found and found.soft_nms_sigma > 0.0:
        raise HoldfastError(
            "TFLite knows no soft suppression, and the config has soft_nms_sigma: "
            f"{found.soft_nms_sigma:g}.",
            fix="Add --set model.ssd.post_processing.batch_non_max_suppression.soft_nms_sigma=0.",
        )


def _refuse_centers(detector: CenterNet) -> None:
    if detector.post_processing is not None:
        raise HoldfastError(
            "TFLite's form of a CenterNet has no suppression, and the config has post_processing.",
            fix="Choose --format saved_model, or take post_processing out of the config.",
        )
