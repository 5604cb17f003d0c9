"""Export a trained detector: written, run as a client would, compared, and only then given."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tensorflow as tf
from numpy.typing import NDArray

from holdfast.checkpoints.trained_model import TrainedModel
from holdfast.checkpoints.whole_weights import has_averages, load_weights
from holdfast.config.label_map import save_label_map
from holdfast.config.load import save_config
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.data.records.build_label_map import build_label_map
from holdfast.errors import HoldfastError
from holdfast.evaluation.build_evaluation import evaluates_averages
from holdfast.export.comparison import ExportComparison, compare
from holdfast.export.detection_outputs import detection_outputs
from holdfast.export.export_choices import ExportPrecision, ExportSettings
from holdfast.export.export_format import ExportFormat, ExportJob, Told
from holdfast.export.formats import chosen_format
from holdfast.export.limits import least_score, limited
from holdfast.export.raw_boxes import best_raw_boxes
from holdfast.export.sample_accuracy import sample_accuracy
from holdfast.export.sample_images import EVALUATION, sample_images
from holdfast.files import refuse_blocked, refuse_remote, shown_path, write_text
from holdfast.models.detectors.build_detector import build_detector
from holdfast.models.detectors.interface import Detector
from holdfast.models.detectors.single_stage.detector import SingleStageDetector
from holdfast.runs.json_text import to_text

DOCUMENT_NAME = "export.json"


@dataclass(frozen=True, kw_only=True)
class ExportEvidence:
    """What was compared with the detector, on which images, and how."""

    comparison: ExportComparison
    source: str  # of the images
    map_before: float | None = None  # COCO's, of the detector; None without labels
    map_after: float | None = None  # of the export

    def document(self) -> dict[str, Any]:
        """Give it as JSON."""
        compared = self.comparison
        return {
            "images": compared.images,
            "source": self.source,
            "objects": compared.objects,
            "unmatched": compared.unmatched,
            "largest_score_difference": compared.largest_score_difference,
            "smallest_iou": compared.smallest_iou,
            "smallest_sure_iou": compared.smallest_sure_iou,
            "smallest_mask_iou": compared.smallest_mask_iou,
            "largest_keypoint_distance": compared.largest_keypoint_distance,
            "largest_raw_score_difference": compared.largest_raw_score_difference,
            "map_before": self.map_before,
            "map_after": self.map_after,
        }


@dataclass(frozen=True, kw_only=True)
class ExportResult:
    """What was written, and how it compares with the detector it came from."""

    files: tuple[Path, ...]
    num_bytes: int
    evidence: ExportEvidence
    settings: ExportSettings

    def document(self) -> dict[str, Any]:
        """Give what `--json` prints and what lies beside the export."""
        return {
            "files": [shown_path(path) for path in self.files],
            "format": str(self.settings.format),
            "input": str(self.settings.input_type),
            "precision": str(self.settings.precision),
            "bytes": self.num_bytes,
            "compared": self.evidence.document(),
            "ok": True,
        }


class DifferingExportError(HoldfastError):
    """An export finds something other than its detector; nothing was written."""


def export_model(
    chosen: TrainedModel,
    out: Path,
    settings: ExportSettings,
    tell: Told = lambda text: None,
    *,
    shown: Path | None = None,
) -> ExportResult:
    """Export a trained detector, with config and label map beside it.

    Args:
        chosen: The config and the checkpoint.
        out: Folder to be made; it appears whole, once the export was found to be right.
        settings: What a client wants.
        tell: Is told what is done next.
        shown: What the folder is called in the result, if it will not stay where it is made.

    Raises:
        DifferingExportError: The export finds something else than the detector.
        HoldfastError: The folder is there already, the format cannot carry the detector, or the
            checkpoint does not fill it.
    """
    _refuse_place(out)
    config = limited(chosen.config, settings)
    row = chosen_format(config, settings)
    job = _job(chosen, config, settings, tell)
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(f".{out.name}.{os.getpid()}")
    temporary.mkdir()
    try:
        tell(f"writing {row.place}")
        row.write(job, temporary / row.place)
        save_config(config, temporary / "pipeline.config")
        if job.label_map is not None:
            save_label_map(job.label_map, temporary / "label_map.pbtxt")
        evidence = _evidence(job, row, temporary / row.place)
        result = _result(temporary, shown or out, row.place, evidence, settings)
        write_text(temporary / DOCUMENT_NAME, to_text(result.document(), indent=1) + "\n")
        os.replace(temporary, out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return result


def _job(
    chosen: TrainedModel, config: TrainEvalPipelineConfig, settings: ExportSettings, tell: Told
) -> ExportJob:
    """Build the detector and fill it, with moving averages where an evaluation uses them."""
    detector = build_detector(config)
    averages = evaluates_averages(config) and has_averages(chosen.checkpoint)
    load_weights(detector, chosen.checkpoint, averages=averages)
    if detector.clock is not None:  # floats are not rounded as integers have to be
        detector.clock.settle(rounds=settings.precision is ExportPrecision.INT8)
    return ExportJob(
        detector=detector,
        config=config,
        folder=chosen.folder,
        label_map=build_label_map(config, chosen.folder),
        settings=settings,
        tell=tell,
    )


def _evidence(job: ExportJob, row: ExportFormat, path: Path) -> ExportEvidence:
    """Run the export beside its detector; an export that differs is an error."""
    samples = sample_images(job.config, job.folder, job.settings.images)
    job.tell(f"comparing on {len(samples.images)} images ({samples.source}) in {row.runtime}")
    tolerance = replace(row.tolerances[job.settings.precision], least_score=least_score(job.config))
    original = [detector_outputs(job.detector, row, image) for image in samples.images]
    exported = row.run(job, path, samples.images)
    if job.settings.raw:
        original, exported = (list(map(best_raw_boxes, found)) for found in (original, exported))
    fixed = isinstance(job.detector, SingleStageDetector)
    comparison = compare(original, exported, tolerance, has_fixed_places=fixed)
    if not comparison.is_within(tolerance):
        raise DifferingExportError(
            f"The export finds something else than the detector: {comparison.unmatched} of "
            f"{comparison.objects} objects unmatched, scores up to "
            f"{comparison.largest_score_difference:.2g} off, boxes' smallest IoU "
            f"{comparison.smallest_iou:.4f}{_anchor_text(comparison)}.",
            fix=f"Nothing was written. {_advice(job.settings.precision)}",
        )
    before = after = None
    if samples.source == EVALUATION and not job.settings.raw:
        before, after = (
            sample_accuracy(samples, found, job.detector.num_classes)
            for found in (original, exported)
        )
    return ExportEvidence(
        comparison=comparison, source=samples.source, map_before=before, map_after=after
    )


def _anchor_text(comparison: ExportComparison) -> str:
    """Say what is known of detectors with anchors only."""
    raw, sure = comparison.largest_raw_score_difference, comparison.smallest_sure_iou
    text = "" if sure is None else f" ({sure:.4f} above a score of 0.5)"
    return text if raw is None else f"{text}, scores before suppression up to {raw:.2g} off"


def _advice(precision: ExportPrecision) -> str:
    match precision:
        case ExportPrecision.INT8:
            return "Give training data like the images of use, or choose --precision float16."
        case ExportPrecision.DYNAMIC:
            return "Choose --precision float16."
        case _:
            return "Please report this with the config."


def detector_outputs(
    detector: Detector, row: ExportFormat, image: NDArray[Any]
) -> dict[str, NDArray[Any]]:
    """Detect in one image with the detector itself; what the format leaves out is left out."""
    inputs, sizes = detector.preprocess(tf.constant(image)[tf.newaxis])
    outputs = detection_outputs(detector, inputs, sizes)
    return {name: value.numpy()[0] for name, value in outputs.items() if name not in row.leaves_out}


def _result(
    temporary: Path, out: Path, place: str, evidence: ExportEvidence, settings: ExportSettings
) -> ExportResult:
    files = sorted(path for path in temporary.rglob("*") if path.is_file())
    exported = [path for path in files if path.relative_to(temporary).parts[0] == place]
    return ExportResult(
        files=(*(out / path.relative_to(temporary) for path in files), out / DOCUMENT_NAME),
        num_bytes=sum(path.stat().st_size for path in exported),
        evidence=evidence,
        settings=settings,
    )


def _refuse_place(out: Path) -> None:
    refuse_remote(out, "an export")
    refuse_blocked(out.parent, "--out")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise HoldfastError(
            f"{out} is there already, and an export replaces nothing.",
            fix="Give a new folder as --out, or remove this one.",
        )
