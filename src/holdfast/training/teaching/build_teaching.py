"""Make a teacher out of what `--teacher` names, if it can teach the detector of a config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.checkpoints.whole_weights import has_averages, load_weights
from holdfast.config.facts.input_sizes import input_shape
from holdfast.config.facts.networks import detector_of
from holdfast.config.label_map import load_label_map
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.image_resizer import FixedShapeResizer, ImageResizer
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.overrides import apply_overrides
from holdfast.data.input.build_input import build_resizer
from holdfast.data.records.build_label_map import build_label_map, names_by_id
from holdfast.errors import HoldfastError
from holdfast.evaluation.build_evaluation import evaluates_averages
from holdfast.models.detectors.build_detector import build_detector
from holdfast.models.detectors.interface import Detector
from holdfast.models.detectors.single_stage.detector import SingleStageDetector
from holdfast.training.teaching.soft_truth import CONFIDENT
from holdfast.training.teaching.teacher import DetectorTeacher, ExportedTeacher
from holdfast.training.teaching.teacher_choice import SAVED_MODEL, TeacherChoice, find_teacher
from holdfast.training.teaching.teaching import Teaching

_LABEL_MAP_NAME = "label_map.pbtxt"
_SIGNATURE = "serving_default"


@dataclass(frozen=True, kw_only=True)
class Student:
    """What is to be taught."""

    detector: Detector
    config: TrainEvalPipelineConfig
    folder: Path  # of the config
    precision: str = "float32"


def build_teaching(teacher: str | None, student: Student) -> Teaching | None:
    """Make the teacher, in the scope of the present strategy; None where none is named.

    It is made after the student, whose first weights are thus what they are without a teacher.
    """
    if teacher is None:
        return None
    _refuse_other_tasks(student.detector)
    choice = find_teacher(teacher)
    if choice.trained is None:
        return _exported(choice, student)
    _refuse_other_classes(student, _names_of(choice), teacher)
    trained = choice.trained
    detector = build_detector(_confident(trained.config), precision=student.precision)
    averages = evaluates_averages(trained.config) and has_averages(trained.checkpoint)
    load_weights(detector, trained.checkpoint, averages=averages)
    own, theirs = _resizer(student.config), _resizer(trained.config)
    looking = DetectorTeacher(
        detector,
        resize=None if own == theirs else build_resizer(theirs),
        largest=_largest(trained.config, theirs),
        is_padded=not _is_fixed(own),
    )
    has_frame = own == theirs or (_is_fixed(own) and _is_fixed(theirs))
    agrees = has_frame and anchors_agree(student.detector, detector)
    anchor_teacher: Any = detector if agrees else None  # a SingleStageDetector, if they agree
    return Teaching(student.detector, looking, anchor_teacher=anchor_teacher)


def anchors_agree(student: Any, teacher: Any) -> bool:
    """Tell whether two detectors say the same kind of thing at the same anchors."""
    if not all(isinstance(each, SingleStageDetector) for each in (student, teacher)):
        return False
    own, theirs = student.settings, teacher.settings
    if own.score_converter.conversion != theirs.score_converter.conversion:
        return False
    if own.score_converter.conversion == "IDENTITY":
        return False  # they are scores already, not logits
    if own.loss.has_background_column != theirs.loss.has_background_column:
        return False
    first, second = (
        np.asarray(each.anchors(*each.settings.input_shape)) for each in (student, teacher)
    )
    return first.shape == second.shape and bool(np.allclose(first, second, atol=1e-5))


def _exported(choice: TeacherChoice, student: Student) -> Teaching:
    _refuse_other_classes(student, _names_of(choice), str(choice.folder))
    try:
        teacher = ExportedTeacher(tf.saved_model.load(str(choice.folder)), _SIGNATURE)
    except (OSError, KeyError, ValueError) as error:
        raise HoldfastError(
            f"--teacher: {choice.folder / SAVED_MODEL} is not a detector: {error}.",
            fix="Give a SavedModel of `holdfast export`, or the run that it was made from.",
        ) from error
    if teacher.input.dtype == tf.string:
        raise HoldfastError(
            f"--teacher: {choice.folder} takes encoded images, and a teacher is given pixels.",
            fix="Export it as image_tensor, or give the run that it was made from.",
        )
    return Teaching(student.detector, teacher)


def _names_of(choice: TeacherChoice) -> dict[int, str]:
    if choice.trained is not None:
        return names_by_id(build_label_map(choice.trained.config, choice.trained.folder))
    found = [place / _LABEL_MAP_NAME for place in (choice.folder, choice.folder.parent)]
    return names_by_id(next((load_label_map(path) for path in found if path.is_file()), None))


def _refuse_other_classes(student: Student, theirs: Mapping[int, str], teacher: str) -> None:
    own = names_by_id(build_label_map(student.config, student.folder))
    if not theirs:
        raise HoldfastError(
            f"--teacher: no label map of {teacher} is found: whether it knows the same classes "
            "cannot be told.",
            fix="Put back the file that label_map_path of its config names; of a SavedModel, put "
            f"{_LABEL_MAP_NAME} beside it.",
        )
    wrong = [
        f"{number}: {own.get(number, 'nothing')} here, {theirs.get(number, 'nothing')} there"
        for number in sorted({*own, *theirs})
        if own.get(number) != theirs.get(number)
    ]
    if wrong:
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise HoldfastError(
            f"--teacher: {teacher} has other classes: {'; '.join(wrong[:5])}{more}.",
            fix="Take a teacher that was trained with the same label map.",
        )


def _refuse_other_tasks(student: Detector) -> None:
    if student.legacy.head == "heatmaps" and student.truth_fields:
        raise HoldfastError(
            f"A teacher teaches boxes and classes, and this CenterNet also learns "
            f"{', '.join(sorted(student.truth_fields))}.",
            fix="Leave --teacher out, or remove the other tasks from the config.",
        )


def _confident(config: TrainEvalPipelineConfig) -> TrainEvalPipelineConfig:
    """Let the teacher not sort out detections that are not believed: it takes long."""
    model = config.model
    described = detector_of(model) if model is not None else None
    field = "post_processing"
    if isinstance(described, FasterRcnn):
        field = "second_stage_post_processing"
    processing = getattr(described, field, None)
    suppression = processing.batch_non_max_suppression if processing is not None else None
    if model is None or suppression is None or suppression.score_threshold >= CONFIDENT:
        return config
    path = f"model.{model.which('model')}.{field}.batch_non_max_suppression.score_threshold"
    changed, problems = apply_overrides(config, {path: CONFIDENT})
    assert not problems, problems
    return changed


def _resizer(config: TrainEvalPipelineConfig) -> ImageResizer:
    described = detector_of(config.model) if config.model is not None else None
    return (described.image_resizer if described is not None else None) or ImageResizer()


def _is_fixed(resizer: ImageResizer) -> bool:
    return isinstance(resizer.chosen("image_resizer_oneof"), FixedShapeResizer)


def _largest(config: TrainEvalPipelineConfig, resizer: ImageResizer) -> tuple[int, int]:
    """Give height and width that the teacher's images are padded to."""
    chosen = resizer.chosen("image_resizer_oneof")
    if isinstance(chosen, FixedShapeResizer):
        return chosen.height, chosen.width
    shape = input_shape(config.model, batch_size=2) if config.model is not None else None
    if shape is None:
        raise HoldfastError(
            "--teacher: the teacher's image_resizer sets no limit to the size of images.",
            fix="Take a teacher with a fixed_shape_resizer or a keep_aspect_ratio_resizer.",
        )
    return shape.height, shape.width
