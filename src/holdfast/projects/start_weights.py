"""The checkpoint that a new config starts from: found, and how much of it to load."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from holdfast.checkpoints.keras_weights import is_keras_weights
from holdfast.checkpoints.legacy.legacy_reader import LegacyCheckpoint, open_checkpoint
from holdfast.checkpoints.own.own_reader import open_own_checkpoint
from holdfast.config.paths import expand, find_checkpoint
from holdfast.config.recipes.fill import Start, recipe_model
from holdfast.config.recipes.recipe import Recipe
from holdfast.config.schema.train import CheckpointVersion
from holdfast.data.records import data_files
from holdfast.errors import HoldfastError
from holdfast.projects.project_folder import written_path


def choose_start(path: str, recipe: Recipe, num_classes: int, folder: Path) -> Start:
    """Find a checkpoint, and load of it what fits a detector with that many classes."""
    path = expand(path)
    if is_keras_weights(path):
        return _classifier(path, folder)
    opened = open_own_checkpoint(path) or open_checkpoint(path)
    is_name_based = isinstance(opened, LegacyCheckpoint) and opened.generation == "tf1"
    kind, reason = _kind(opened.shapes, recipe, num_classes)
    return Start(
        checkpoint=written_path(opened.prefix, folder, find_checkpoint),
        kind=kind,
        version=CheckpointVersion.V1 if is_name_based else CheckpointVersion.V2,
        reason=reason,
    )


def predicted_scores(shapes: Mapping[str, tuple[int, ...]]) -> int | None:
    """Tell how many scores a detector gives each place, background included; None if it is none.

    >>> predicted_scores({"BoxPredictor_0/ClassPredictor/biases": (273,),
    ...                   "BoxPredictor_0/BoxEncodingPredictor/biases": (12,)})
    91
    """
    regions = [shape[0] for name, shape in shapes.items() if _REGION_CLASSES.search(name)]
    if regions:  # of two stages: one row of scores for each region
        return max(regions)
    scores = max((shape[0] for name, shape in shapes.items() if _CLASSES.search(name)), default=0)
    codes = max((shape[0] for name, shape in shapes.items() if _BOXES.search(name)), default=0)
    return scores // (codes // _CODE_SIZE) if scores and codes else None


def predicted_centers(shapes: Mapping[str, tuple[int, ...]]) -> int | None:
    """Tell how many classes a CenterNet has heatmaps of; None if it is none.

    >>> predicted_centers({"model/head/object_center.0/last/convolution/bias": (3,)})
    3
    """
    counts = (shape[0] for name, shape in shapes.items() if _CENTERS.search(name))
    return next(counts, None)


_CODE_SIZE = 4  # numbers for a box
_OBJECT = "/.ATTRIBUTES/VARIABLE_VALUE"
# Biases of the last layers: in the OD API's TF1 half, in its TF2 half, in Holdfast.
_CLASSES = re.compile(
    rf"(ClassPredictor/biases|_class_predictor_layers/\d+/bias{_OBJECT}"
    r"|model/head/(level_\d+/)?classes/.*bias)$"
)
_BOXES = re.compile(
    rf"(BoxEncodingPredictor/biases|/BoxPredictor/biases|_box_encoder_layers/\d+/bias{_OBJECT}"
    r"|model/head/(level_\d+/)?boxes/.*bias)$"
)
_REGION_CLASSES = re.compile(
    rf"(SecondStageBoxPredictor/ClassPredictor/biases"
    rf"|_mask_rcnn_box_predictor/_class_prediction_head/_class_predictor_layers/\d+/bias{_OBJECT}"
    r"|model/box_head/classes/.*bias)$"
)
_CENTERS = re.compile(
    rf"(_prediction_head_dict/object_center/0/layer_with_weights-1/bias{_OBJECT}"
    r"|model/head/object_center\.0/last/.*bias)$"
)
_OTHER_CLASSES = (
    "A detector: all of it is loaded except what predicts its classes. (The OD API itself would "
    'load less, and need "detection" here.)'
)


def _kind(
    shapes: Mapping[str, tuple[int, ...]], recipe: Recipe, num_classes: int
) -> tuple[str, str]:
    model = recipe_model(recipe, num_classes)
    scores = predicted_centers(shapes) if model.center_net else predicted_scores(shapes)
    if scores is None:
        return "classification", "A classifier: it is loaded into the backbone."
    has_background = model.center_net is None
    if model.ssd is not None:
        has_background = model.ssd.add_background_class
    if scores == num_classes + int(has_background):
        return "full", "A detector with the same number of classes: all of it is loaded."
    return "full", _OTHER_CLASSES


def _classifier(path: str, folder: Path) -> Start:
    if not data_files.exists(path):
        raise HoldfastError(f"{path} does not exist.", fix="Check the path.")
    return Start(
        checkpoint=written_path(path, folder),
        kind="classification",
        version=CheckpointVersion.V2,
        reason="Keras weights of a classifier: loaded into the backbone (by Holdfast only).",
        of_keras=True,
    )
