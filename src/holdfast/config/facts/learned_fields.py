"""What a detector learns beyond boxes and classes, by its config."""

from __future__ import annotations

from holdfast.config.facts.networks import Detector
from holdfast.config.schema.center_net import CenterNet
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.ssd import Ssd


def learned_fields(detector: Detector) -> frozenset[str]:
    """Name the optional fields of the ground truth that a detector learns from.

    >>> from holdfast.config.schema.center_net import MaskEstimation
    >>> sorted(learned_fields(CenterNet(mask_estimation_task=MaskEstimation())))
    ['masks']
    """
    learned = {
        "confidences": isinstance(detector, Ssd) and detector.use_confidences_as_targets,
        "masks": _learns_masks(detector),
        "keypoints": isinstance(detector, CenterNet) and bool(detector.keypoint_estimation_task),
    }
    return frozenset(name for name, is_learned in learned.items() if is_learned)


def _learns_masks(detector: Detector) -> bool:
    match detector:
        case CenterNet():
            tasks = (detector.mask_estimation_task, detector.deepmac_mask_estimation)
            return any(task is not None for task in tasks)
        case FasterRcnn():
            # Masks are a third stage: with fewer, a mask predictor is never asked.
            predictor = detector.second_stage_box_predictor
            second = predictor.mask_rcnn_box_predictor if predictor else None
            wanted = second is not None and second.predict_instance_masks
            return wanted and detector.number_of_stages == _STAGES_WITH_MASKS
        case Ssd():
            return False


_STAGES_WITH_MASKS = 3
