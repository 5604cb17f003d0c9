"""Score calibration applied after the score converter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar

from holdfast.config.schema.message import Message, OneOfs


class TrainingDataType(IntEnum):
    """Which detections a calibration was fitted on."""

    DATA_TYPE_UNKNOWN = 0
    ALL_CLASSES = 1
    CLASS_SPECIFIC = 2


@dataclass(frozen=True, kw_only=True, repr=False)
class CalibrationConfig(Message):
    """Exactly one calibration of scores."""

    oneofs: ClassVar[OneOfs] = {
        "calibrator": (
            "function_approximation",
            "class_id_function_approximations",
            "sigmoid_calibration",
            "class_id_sigmoid_calibrations",
            "temperature_scaling_calibration",
        ),
    }

    function_approximation: FunctionApproximation | None = None
    class_id_function_approximations: ClassIdFunctionApproximations | None = None
    sigmoid_calibration: SigmoidCalibration | None = None
    class_id_sigmoid_calibrations: ClassIdSigmoidCalibrations | None = None
    temperature_scaling_calibration: TemperatureScalingCalibration | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class FunctionApproximation(Message):
    """One piecewise-linear function for all classes."""

    x_y_pairs: XYPairs | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class ClassIdFunctionApproximations(Message):
    """A piecewise-linear function for each class id."""

    class_id_xy_pairs_map: Mapping[int, XYPairs] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, repr=False)
class SigmoidCalibration(Message):
    """One sigmoid for all classes."""

    sigmoid_parameters: SigmoidParameters | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class ClassIdSigmoidCalibrations(Message):
    """A sigmoid for each class id."""

    class_id_sigmoid_parameters_map: Mapping[int, SigmoidParameters] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, repr=False)
class TemperatureScalingCalibration(Message):
    """Scores divided by a temperature."""

    scaler: float = 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class XYPairs(Message):
    """The knots of a piecewise-linear function."""

    x_y_pair: tuple[XYPair, ...] = ()
    training_data_type: TrainingDataType = TrainingDataType.DATA_TYPE_UNKNOWN


@dataclass(frozen=True, kw_only=True, repr=False)
class XYPair(Message):
    """One knot."""

    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class SigmoidParameters(Message):
    """1 / (1 + exp(a * score + b))."""

    a: float = -1.0
    b: float = 0.0
