"""What 8 bits cost on blood cells: after training, and trained for.

An SSD is fine-tuned in floating point, then for some more steps quantized (`train --quantize`).
Three files are written and judged on images that no training saw: float32, int8 with ranges of the
training images, and int8 of the quantized training. A run that was stopped goes on where it stood.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from results import MAP_50, holdfast, new_project, print_table, settings, unseen_images

RECIPE, WEIGHTS = "ssd_mobilenet_v2", "ssd_mobilenet_v2_coco"
RATE = "train_config.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate"
ALL_IMAGES = 256  # more than there are


def main() -> None:
    arguments = _arguments()
    config = new_project(arguments.work / "project", RECIPE, "bccd", WEIGHTS, arguments.steps)
    float_run = arguments.start or _trained(config, arguments.work / "float", arguments.steps)
    quantized_run = _quantized(config, float_run, arguments)
    rows = [
        ("float32", float_run, "float32"),
        ("int8 after training", float_run, "int8"),
        ("int8 trained for", quantized_run, "int8"),
    ]
    print_table(
        ("", "mAP at 0.5, detector", "mAP, detector", "mAP, file", "MB"),
        (_row(*row, arguments.work) for row in rows),
    )


def _row(name: str, run: Path, precision: str, work: Path) -> list[str]:
    exported = _exported(run, precision, work / name.replace(" ", "_"))
    compared = exported["compared"]
    return [
        name,
        f"{_evaluated(run):.3f}",
        f"{compared['map_before']:.3f}",
        f"{compared['map_after']:.3f}",
        f"{exported['bytes'] / 1e6:.1f}",
    ]


def _trained(config: Path, run: Path, steps: int, *options: str) -> Path:
    last = ("--evaluate-every", str(steps), "--checkpoint-every", str(min(steps, 100)))
    length = ("--run", str(run), "--steps", str(steps))
    holdfast(
        "train",
        str(config),
        *length,
        *last,
        "--json",
        *settings(unseen_images(config.parent)),
        *options,
    )
    return run


def _quantized(config: Path, start: Path, arguments: argparse.Namespace) -> Path:
    """Fine-tune what was trained in floating point, at a tenth of the rate."""
    changes = {
        "train_config.fine_tune_checkpoint": start.resolve(),
        "train_config.fine_tune_checkpoint_type": "full",
        f"{RATE}.learning_rate_base": arguments.rate,
        f"{RATE}.warmup_learning_rate": arguments.rate / 10,
        f"{RATE}.total_steps": arguments.quantized_steps,
        f"{RATE}.warmup_steps": arguments.quantized_steps // 10,
    }
    run = arguments.work / "quantized"
    return _trained(config, run, arguments.quantized_steps, "--quantize", *settings(changes))


def _evaluated(run: Path) -> float:
    """Evaluate the detector itself; one that is quantized is rounded as its file is."""
    document = json.loads(holdfast("evaluate", str(run), "--json"))
    return float(document["metrics"][MAP_50])


def _exported(run: Path, precision: str, out: Path) -> dict[str, dict[str, float]]:
    document = out / "export.json"
    if not document.exists():
        form = ("--format", "tflite", "--precision", precision)
        rest = ("--images", str(ALL_IMAGES), "--out", str(out), "--json")
        holdfast("export", str(run), *form, *rest)
    exported: dict[str, dict[str, float]] = json.loads(document.read_text())
    return exported


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
