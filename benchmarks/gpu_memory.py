"""What RetinaNet would need on a GPU, predicted, against what others measured and published.

Nothing here runs on a GPU. Needs the model zoo's configs and the table of published memory.
"""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

from holdfast.cli.quiet import load_tensorflow

load_tensorflow()

from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from holdfast.config.load import load_config  # noqa: E402
from holdfast.memory.plan import BatchShape, StepSettings  # noqa: E402
from holdfast.memory.predict.prediction import Surroundings, predict  # noqa: E402
from holdfast.training.fitting.tracing import trace_step  # noqa: E402

PROJECT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("HOLDFAST_SHARED", PROJECT.parent / "shared"))
SHAPE = BatchShape(height=800, width=1344, boxes=100)  # others pad 800 x 1333 likewise
# What the others freeze: the stem and the first stage, whose activations are then not kept.
FIRST_LAYERS = (".*backbone/conv1/.*", ".*backbone/block1_.*")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A way to train RetinaNet."""

    depth: int = 50
    precision: str = "float32"
    freezes_batch_norm: bool = True
    freezes_first_layers: bool = True

    def __str__(self) -> str:
        frozen = "frozen" if self.freezes_batch_norm else "trained"
        first = "frozen" if self.freezes_first_layers else "trained"
        return f"R{self.depth}, {self.precision}, batch norm {frozen}, stem and stage 1 {first}"


CASES = (
    Case(),
    Case(precision="mixed_float16"),
    Case(freezes_batch_norm=False),
    Case(freezes_first_layers=False),
    Case(freezes_first_layers=False, freezes_batch_norm=False),
    Case(depth=101),
)


def main() -> None:
    console = Console()
    table = Table(
        "RetinaNet, 800 x 1344", "1 image", "2 images", "an image more", title="Predicted"
    )
    for case in CASES:
        one, two = (gigabytes(case, images) for images in (1, 2))
        table.add_row(str(case), f"{one:.2f} GB", f"{two:.2f} GB", f"{two - one:.2f} GB")
        console.print(f"{case}: {one:.2f}, {two:.2f} GB")
    console.print(table)
    console.print(published())


def gigabytes(case: Case, images: int) -> float:
    name = f"ssd_resnet{case.depth}_v1_fpn_640x640_coco17_tpu-8.config"
    overrides = {
        "model.ssd.num_classes": 80,
        "model.ssd.freeze_batchnorm": case.freezes_batch_norm,
        "train_config.freeze_variables": FIRST_LAYERS if case.freezes_first_layers else (),
    }
    config = load_config(SHARED / "corpus" / "zoo_configs" / "tf2" / name, overrides)
    settings = StepSettings(micro_batch=images, precision=case.precision)
    return predict(trace_step(config, settings, SHAPE), Surroundings(device="gpu")).peak_bytes / 1e9


def published() -> Table:
    table = Table("source", "backbone", "images", "precision", "GB", title="Published, measured")
    with (SHARED / "tables" / "detector_training_memory.csv").open() as file:
        for row in csv.DictReader(file):
            if row["model"] == "RetinaNet" and row["backbone"] in ("R50-FPN", "R101-FPN"):
                source = row["source"].split()[0].rpartition("/")[2]
                cells = (row[name] for name in ("backbone", "batch_per_gpu", "precision"))
                table.add_row(source, *cells, row["memory_gb"])
    return table


if __name__ == "__main__":
    main()
