"""Turn the config's post_processing into suppression and score conversion."""

from __future__ import annotations

from holdfast.config.keywords import all_keywords
from holdfast.config.schema import score_calibration as calibration_schema
from holdfast.config.schema.post_processing import BatchNonMaxSuppression, PostProcessing
from holdfast.errors import HoldfastError
from holdfast.models.inference.detections import Suppression
from holdfast.models.inference.scores import (
    Calibration,
    Conversion,
    InterpolatedColumns,
    InterpolatedScores,
    Knots,
    ScoreConversion,
)


def build_suppression(config: PostProcessing) -> Suppression:
    """Make the non-maximum suppression."""
    return Suppression(**all_keywords(config.batch_non_max_suppression or BatchNonMaxSuppression()))


def build_score_converter(config: PostProcessing) -> ScoreConversion:
    """Make the conversion of logits to scores."""
    chosen = config.calibration_config and config.calibration_config.chosen("calibrator")
    scale = config.logit_scale
    calibration: Calibration | None = None
    match chosen:
        case calibration_schema.TemperatureScalingCalibration(scaler=scaler):
            scale *= scaler
        case calibration_schema.FunctionApproximation(x_y_pairs=pairs) if pairs:
            calibration = InterpolatedScores(knots=_knots(pairs))
        case calibration_schema.ClassIdFunctionApproximations(class_id_xy_pairs_map=pairs):
            by_column = {column: _knots(each) for column, each in dict(pairs).items()}
            calibration = InterpolatedColumns(knots=by_column)
        case None:
            pass
        case _:
            raise HoldfastError(
                "calibration_config: sigmoid calibration is not supported.",
                fix="Write it as function_approximation { x_y_pairs { … } }.",
            )
    conversion: Conversion = config.score_converter.name  # type: ignore[assignment]
    return ScoreConversion(conversion=conversion, logit_scale=scale, calibration=calibration)


def _knots(pairs: calibration_schema.XYPairs) -> Knots:
    return tuple((pair.x, pair.y) for pair in pairs.x_y_pair)
