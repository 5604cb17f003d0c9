"""Export a trained detector: written, run as a client would, compared, and only then given."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf
from numpy.typing import NDArray

from holdfast.checkpoints.trained_model import TrainedModel
from holdfast.checkpoints.whole_weights import has_averages, load_weights
from holdfast.config.label_map import save_label_map
from holdfast.config.load import save_config
from holdfast.data.records.build_label_map import build_label_map
from holdfast.errors import HoldfastError
from holdfast.evaluation.build_evaluation import evaluates_averages
from holdfast.export.client_input import ClientInput
from holdfast.export.comparison import ExportComparison, Tolerance, compare
from holdfast.export.detection_outputs import detection_outputs
from holdfast.export.fresh_process import run_saved_model
from holdfast.export.limits import least_score, limited
from holdfast.export.sample_images import SampleImages, sample_images
from holdfast.export.saved_model_file import write_saved_model
from holdfast.files import refuse_remote, write_text
from holdfast.models.detectors.build_detector import build_detector
from holdfast.models.detectors.interface import Detector
from holdfast.runs.json_text import to_text

FORMAT = "saved_model"
DOCUMENT_NAME = "export.json"
_PRECISION = "float32"


@dataclass(frozen=True, kw_only=True)
class ExportSettings:
    """What a client wants; None leaves what the config says."""

    input_type: ClientInput = ClientInput.IMAGE_TENSOR
    score_threshold: float | None = None
    max_detections: int | None = None
    images: int = 8  # that the export is compared on


@dataclass(frozen=True, kw_only=True)
class ExportResult:
    """What was written, and how it compares with the detector it came from."""

    files: tuple[Path, ...]
    num_bytes: int
    comparison: ExportComparison
    compared_on: str
    input_type: ClientInput

    def document(self) -> dict[str, Any]:
        """Give what `--json` prints and what lies beside the export."""
        compared = self.comparison
        return {
            "files": [str(path) for path in self.files],
            "format": FORMAT,
            "input": str(self.input_type),
            "precision": _PRECISION,
            "bytes": self.num_bytes,
            "compared": {
                "images": compared.images,
                "source": self.compared_on,
                "objects": compared.objects,
                "unmatched": compared.unmatched,
                "largest_score_difference": compared.largest_score_difference,
                "smallest_iou": compared.smallest_iou,
                "smallest_mask_iou": compared.smallest_mask_iou,
                "largest_keypoint_distance": compared.largest_keypoint_distance,
                "largest_raw_score_difference": compared.largest_raw_score_difference,
                "map_before": None,  # labels are not read
                "map_after": None,
            },
            "ok": True,
        }


class DifferingExportError(HoldfastError):
    """An export finds something other than its detector; nothing was written."""


Told = Callable[[str], None]


def export_model(
    chosen: TrainedModel, out: Path, settings: ExportSettings, tell: Told = lambda text: None
) -> ExportResult:
    """Export a trained detector as a SavedModel with config and label map beside it.

    Args:
        chosen: The config and the checkpoint.
        out: Folder to be made; it appears whole, once the export was found to be right.
        settings: What a client wants.
        tell: Is told what is done next.

    Raises:
        DifferingExportError: The export finds something else than the detector.
        HoldfastError: The folder is there already, or the checkpoint does not fill the detector.
    """
    _refuse_place(out)
    config = limited(chosen.config, settings.score_threshold, settings.max_detections)
    detector = build_detector(config)
    averages = evaluates_averages(config) and has_averages(chosen.checkpoint)
    load_weights(detector, chosen.checkpoint, averages=averages)
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        tell("writing the SavedModel")
        write_saved_model(detector, temporary / FORMAT, settings.input_type)
        save_config(config, temporary / "pipeline.config")
        label_map = build_label_map(config, chosen.folder)
        if label_map is not None:
            save_label_map(label_map, temporary / "label_map.pbtxt")
        samples = sample_images(config, chosen.folder, settings.images)
        tell(f"comparing on {len(samples.images)} images ({samples.source}), in a fresh process")
        tolerance = Tolerance(least_score=least_score(config))
        exported = temporary / FORMAT
        comparison = _compared(detector, exported, samples, settings.input_type, tolerance)
        result = _result(temporary, out, comparison, samples.source, settings)
        write_text(temporary / DOCUMENT_NAME, to_text(result.document(), indent=1) + "\n")
        os.replace(temporary, out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return result


def _compared(
    detector: Detector,
    folder: Path,
    samples: SampleImages,
    input_type: ClientInput,
    tolerance: Tolerance,
) -> ExportComparison:
    original = [_outputs(detector, image) for image in samples.images]
    with tempfile.TemporaryDirectory() as work:
        exported = run_saved_model(folder, samples.images, input_type, Path(work))
    comparison = compare(original, exported, tolerance)
    if not comparison.is_within(tolerance):
        raise DifferingExportError(
            f"The export finds something else than the detector: {comparison.unmatched} of "
            f"{comparison.objects} objects unmatched, scores up to "
            f"{comparison.largest_score_difference:.2g} off, boxes' smallest IoU "
            f"{comparison.smallest_iou:.4f}.",
            fix="Nothing was written. Please report this with the config.",
        )
    return comparison


def _outputs(detector: Detector, image: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Detect in one image with the detector itself."""
    inputs, sizes = detector.preprocess(tf.constant(image)[tf.newaxis])
    outputs = detection_outputs(detector, inputs, sizes)
    return {name: value.numpy()[0] for name, value in outputs.items()}


def _result(
    temporary: Path, out: Path, comparison: ExportComparison, source: str, settings: ExportSettings
) -> ExportResult:
    files = sorted(path for path in temporary.rglob("*") if path.is_file())
    return ExportResult(
        files=(*(out / path.relative_to(temporary) for path in files), out / DOCUMENT_NAME),
        num_bytes=sum(path.stat().st_size for path in (temporary / FORMAT).rglob("*")),
        comparison=comparison,
        compared_on=source,
        input_type=settings.input_type,
    )


def _refuse_place(out: Path) -> None:
    refuse_remote(out, "an export")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise HoldfastError(
            f"{out} is there already, and an export replaces nothing.",
            fix="Give a new folder as --out, or remove this one.",
        )
