"""What can be chosen of an export; plain, so that the command line knows it without TensorFlow."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from holdfast.export.client_input import ClientInput


class FormatName(StrEnum):
    """What is written."""

    SAVED_MODEL = "saved_model"
    TFLITE = "tflite"


class ExportPrecision(StrEnum):
    """In what numbers an export keeps its weights, and computes."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"  # weights; computed in float32 where a device knows nothing smaller
    DYNAMIC = "dynamic"  # weights in 8 bits, activations quantized while it runs
    INT8 = "int8"  # weights and activations, over ranges that were seen in sample images


@dataclass(frozen=True, kw_only=True)
class ExportSettings:
    """What a client wants; None leaves what the config says.

    fast_suppression: suppress boxes whatever their class, each with its best class.
    images: how many the export is compared on.
    """

    format: FormatName = FormatName.SAVED_MODEL
    precision: ExportPrecision = ExportPrecision.FLOAT32
    input_type: ClientInput = ClientInput.IMAGE_TENSOR
    score_threshold: float | None = None
    max_detections: int | None = None
    fast_suppression: bool = False
    images: int = 8
