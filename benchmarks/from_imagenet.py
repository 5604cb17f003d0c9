"""How well detectors learn from a classifier's weights: RetinaNet, both R-CNNs and CenterNet.

Each data set is made ready by `holdfast new`, from ImageNet's ResNet-50, trained, and judged on
images that the training did not see; the masks of fruits and nuts on the 18 images that there are.
Results are kept in a file of JSON lines: a run that was stopped goes on where it stood.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from results import MAP_50, SHARED, KeptResults, holdfast, print_table, settings, unseen_images

CLASSIFIER = SHARED / "weights/imagenet_resnet50/resnet50_no_top_float16.weights.h5"
MASK_MAP_50 = "DetectionMasks_Precision/mAP@.50IOU"
RESIZER = "model.faster_rcnn.image_resizer.keep_aspect_ratio_resizer"


@dataclass(frozen=True, kw_only=True)
class Training:
    """A network, the data, and what differs from what `holdfast new` chooses."""

    recipe: str
    data: str = "bccd"
    input_size: int
    batch_size: int
    steps: int
    has_weights: bool = True
    judges_trained: bool = False  # images that it was trained on: there are no others
    metric: str = MAP_50
    settings: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        start = "from ImageNet" if self.has_weights else "from random weights"
        return f"{self.recipe} {self.data} {start}"


RATE = "train_config.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate"
_RETINANET = partial(
    Training,
    recipe="retinanet_50_640",
    input_size=320,
    batch_size=4,
    steps=600,
    # The rate for 8 images, whose scores docs/new.md has.
    settings={f"{RATE}.learning_rate_base": 0.005, f"{RATE}.warmup_learning_rate": 0.0005},
)
TRAININGS = (
    _RETINANET(),
    _RETINANET(has_weights=False),
    Training(
        recipe="faster_rcnn_resnet50_640",
        input_size=640,
        batch_size=1,
        steps=3000,
        settings={
            # The images are not square: without padding a step takes a quarter less.
            f"{RESIZER}.pad_to_max_dimension": "false",
            "model.faster_rcnn.use_static_shapes": "false",
            "model.faster_rcnn.first_stage_max_proposals": 150,
        },
    ),
    Training(recipe="centernet_resnet50", input_size=384, batch_size=4, steps=600),
    Training(
        recipe="mask_rcnn_resnet50",
        data="fruits_nuts_coco_seg",
        input_size=448,
        batch_size=1,
        steps=500,
        judges_trained=True,
        metric=MASK_MAP_50,
    ),
)


def main() -> None:
    arguments = _arguments()
    results = KeptResults(arguments.results, key="training")
    for training in TRAININGS:
        if arguments.only in training.recipe:
            values = results.once(str(training), partial(_train, training, arguments))
            print(f"{training}: {values['map_50']:.3f}", flush=True)
    rows = [(name, f"{each['map_50']:.3f}") for name, each in results.found.items()]
    print_table(("training", "mAP at 0.5"), rows)


def _train(training: Training, arguments: argparse.Namespace) -> dict[str, float]:
    folder = arguments.work / str(training).replace(" ", "_")
    if not (folder / "pipeline.config").exists():
        _make(training, folder)
    fields = dict(training.settings)
    if not training.judges_trained:
        fields |= unseen_images(folder)
    last = ("--evaluate-every", str(training.steps), "--precision", arguments.precision, "--json")
    config, run = str(folder / "pipeline.config"), str(folder / "run")
    document = holdfast("train", config, "--run", run, *last, *settings(fields))
    return {"map_50": json.loads(document)["metrics"][training.metric]}


def _make(training: Training, folder: Path) -> None:
    """Let `holdfast new` write the project; images are judged that it would train on."""
    sizes = {
        "--input-size": training.input_size,
        "--batch-size": training.batch_size,
        "--steps": training.steps,
    }
    options = [text for name, value in sizes.items() for text in (name, str(value))]
    if training.has_weights:
        options += ["--checkpoint", str(CLASSIFIER)]
    if training.judges_trained:
        options += ["--val", "0"]
    data = str(SHARED / "datasets" / training.data)
    holdfast("new", training.recipe, "--data", data, "--out", str(folder), *options)
    if training.judges_trained:
        _judge_what_is_trained_on(folder / "pipeline.config")


def _judge_what_is_trained_on(config: Path) -> None:
    text = config.read_text()
    reader = text[text.index("train_input_reader") :].replace("train_input", "eval_input")
    metrics = 'metrics_set: "coco_detection_metrics" metrics_set: "coco_mask_metrics"'
    config.write_text(f"{text}\neval_config {{ {metrics} use_moving_averages: true }}\n{reader}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="recipes with this in their name")
    parser.add_argument("--precision", default="float32")
    here = Path(__file__).parent
    parser.add_argument("--results", type=Path, default=here / "from_imagenet.jsonl")
    parser.add_argument("--work", type=Path, default=Path("build/from_imagenet"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
