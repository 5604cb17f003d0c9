"""How fast `holdfast predict` is, against the bare network and decoding of the same files."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.cli.quiet import load_tensorflow

load_tensorflow()

import numpy as np  # noqa: E402
from PIL import Image  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402
from sample_config import CONFIG  # noqa: E402

from holdfast.cli.predict_output import PredictOutput  # noqa: E402
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig  # noqa: E402
from holdfast.config.text.decode import decode  # noqa: E402
from holdfast.models.detectors.build_detector import build_detector  # noqa: E402
from holdfast.prediction.detector_network import DetectorNetwork  # noqa: E402
from holdfast.prediction.drawn_image import PictureFolder  # noqa: E402
from holdfast.prediction.loaded_model import LoadedModel  # noqa: E402
from holdfast.prediction.predict_images import PredictionSettings, predict_images  # noqa: E402

ROUNDS = 5
IMAGES = 96
BATCH = 8
PROJECT = Path(__file__).resolve().parent.parent


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = image_files(Path(folder))
        model = small_model()
        runs: dict[str, Callable[[], None]] = {
            "decode, then the network": lambda: bare(model, files),
            "predict --json": lambda: predict(model, files, None),
            "predict, with pictures": lambda: predict(model, files, Path(folder) / "out"),
        }
        rates: dict[str, list[float]] = {name: [] for name in runs}
        for number in range(ROUNDS + 1):
            for name, run in runs.items():
                start = time.perf_counter()
                run()
                if number:  # the first traces
                    rates[name].append(len(files) / (time.perf_counter() - start))
    plain = rates["decode, then the network"]
    table = Table("what", "images/s", "ratio", title=f"fpnlite 320, {len(files)} images")
    for name, each in rates.items():
        ratio = statistics.median(one / other for one, other in zip(each, plain, strict=True))
        table.add_row(name, f"{statistics.median(each):.1f}", f"{ratio:.2f}")
    Console().print(table)


def image_files(folder: Path) -> list[Path]:
    """Take photographs of the shared data where there are some, else make images."""
    shared = Path(os.environ.get("HOLDFAST_SHARED", PROJECT.parent / "shared"))
    found = sorted((shared / "datasets" / "bccd").rglob("*.jpg"))[:IMAGES]
    if found:
        return found
    draw = np.random.default_rng(0)
    for index in range(IMAGES):
        small = Image.fromarray(draw.integers(0, 256, (24, 32, 3), np.uint8))
        small.resize((640, 480)).save(folder / f"{index:03}.jpg")
    return sorted(folder.glob("*.jpg"))


def small_model() -> LoadedModel:
    config = decode(CONFIG, TrainEvalPipelineConfig).message
    network = DetectorNetwork(build_detector(config), config)
    return LoadedModel(network=network, names={}, description="fresh weights")


def bare(model: LoadedModel, files: list[Path]) -> None:
    """Decode a batch, and detect in it: one after the other, nothing kept."""
    for start in range(0, len(files), BATCH):
        batch = []
        for path in files[start : start + BATCH]:
            with Image.open(path) as image:
                batch.append(model.network.ready(np.asarray(image.convert("RGB"))))
        model.network.detect(batch)


def predict(model: LoadedModel, files: list[Path], out: Path | None) -> None:
    """Do what the command does, results included."""
    pictures = None if out is None else PictureFolder(out, root=files[0].parent)
    with PredictOutput(out=out, pictures=pictures, coco=None, model=model, unit="image") as output:
        for seen in predict_images(model, files, PredictionSettings(batch_size=BATCH)):
            output.add(seen)
        output.finish()


if __name__ == "__main__":
    main()
