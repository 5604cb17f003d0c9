"""What 8 bits cost on blood cells: after training, and trained for.

An SSD is fine-tuned in floating point, then for some more steps quantized (`train --quantize`).
Three files are written and judged on images that no training saw: float32, int8 with ranges of the
training images, and int8 of the quantized training. A run that was stopped goes on where it stood.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

PROJECT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("HOLDFAST_SHARED", PROJECT.parent / "shared"))
CHECKPOINT = SHARED / "weights" / "ssd_mobilenet_v2_coco" / "model.ckpt"
RECIPE = "ssd_mobilenet_v2"
RATE = "train_config.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate"
MAP_50 = "DetectionBoxes_Precision/mAP@.50IOU"
ALL_IMAGES = 256  # more than there are


def main() -> None:
    arguments = _arguments()
    config = _project(arguments)
    float_run = arguments.start or _trained(config, arguments.work / "float", arguments.steps)
    quantized_run = _quantized(config, float_run, arguments)
    rows = [
        ("float32", float_run, "float32"),
        ("int8 after training", float_run, "int8"),
        ("int8 trained for", quantized_run, "int8"),
    ]
    table = Table("", "mAP at 0.5, detector", "mAP, detector", "mAP, file", "MB", box=None)
    for name, run, precision in rows:
        exported = _exported(run, precision, arguments.work / name.replace(" ", "_"))
        compared = exported["compared"]
        table.add_row(
            name,
            f"{_evaluated(run):.3f}",
            f"{compared['map_before']:.3f}",
            f"{compared['map_after']:.3f}",
            f"{exported['bytes'] / 1e6:.1f}",
        )
    Console().print(table)


def _project(arguments: argparse.Namespace) -> Path:
    """Make the config, which evaluates on images that no training sees."""
    folder: Path = arguments.work / "project"
    config = folder / "pipeline.config"
    if not config.exists():
        data = ("--data", str(SHARED / "datasets" / "bccd"), "--checkpoint", str(CHECKPOINT))
        _holdfast("new", RECIPE, *data, "--steps", str(arguments.steps), "--out", str(folder))
    return config


def _trained(config: Path, run: Path, steps: int, *options: str) -> Path:
    last = ("--evaluate-every", str(steps), "--checkpoint-every", str(min(steps, 100)))
    length = ("--run", str(run), "--steps", str(steps))
    _holdfast("train", str(config), *length, *last, "--json", *_test_split(config), *options)
    return run


def _quantized(config: Path, start: Path, arguments: argparse.Namespace) -> Path:
    """Fine-tune what was trained in floating point, at a tenth of the rate."""
    settings = {
        "train_config.fine_tune_checkpoint": start.resolve(),
        "train_config.fine_tune_checkpoint_type": "full",
        f"{RATE}.learning_rate_base": arguments.rate,
        f"{RATE}.warmup_learning_rate": arguments.rate / 10,
        f"{RATE}.total_steps": arguments.quantized_steps,
        f"{RATE}.warmup_steps": arguments.quantized_steps // 10,
    }
    sets = [text for name, value in settings.items() for text in ("--set", f"{name}={value}")]
    run = arguments.work / "quantized"
    return _trained(config, run, arguments.quantized_steps, "--quantize", *sets)


def _test_split(config: Path) -> tuple[str, str]:
    records = next(config.parent.glob("*_records")).resolve()
    field = "eval_input_reader[0].tf_record_input_reader.input_path"
    return "--set", f"{field}={records}/test.record-*"


def _evaluated(run: Path) -> float:
    """Evaluate the detector itself; one that is quantized is rounded as its file is."""
    document = json.loads(_holdfast("evaluate", str(run), "--json"))
    return float(document["metrics"][MAP_50])


def _exported(run: Path, precision: str, out: Path) -> dict[str, dict[str, float]]:
    document = out / "export.json"
    if not document.exists():
        form = ("--format", "tflite", "--precision", precision)
        rest = ("--images", str(ALL_IMAGES), "--out", str(out), "--json")
        _holdfast("export", str(run), *form, *rest)
    exported: dict[str, dict[str, float]] = json.loads(document.read_text())
    return exported


def _holdfast(*arguments: str) -> str:
    command = [sys.executable, "-m", "holdfast", *arguments]
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return finished.stdout


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500, help="in floating point")
    parser.add_argument("--quantized-steps", type=int, default=200, help="half of them rounded")
    parser.add_argument("--rate", type=float, default=0.001, help="of the quantized steps")
    parser.add_argument("--start", type=Path, help="a run that was trained in floating point")
    parser.add_argument("--work", type=Path, default=Path("build/quantized_accuracy"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
