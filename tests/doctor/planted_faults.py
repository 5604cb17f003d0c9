"""A healthy small training, and faults to plant into its config or its data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from tests.doctor.cases import case_of
from tests.doctor.scenes import Scene, changed, data_case, scene, scenes

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.config.text.encode import encode
from holdfast.config.text.overrides import apply_overrides
from holdfast.doctor import box_fit
from holdfast.doctor.case import Case
from holdfast.runs.events import Event

RATE = "train_config.optimizer.adam_optimizer.learning_rate.cosine_decay_learning_rate"
HEAD = "model.ssd.box_predictor.weight_shared_convolutional_box_predictor"
SUPPRESSION = "model.ssd.post_processing.batch_non_max_suppression"
FOCAL = "model.ssd.loss.classification_loss.weighted_sigmoid_focal"
NETWORK = "model.ssd.feature_extractor.conv_hyperparams"
STEPS = 2000
# The demo's detector, for the scenes of the tests.
HEALTHY = {
    "model.ssd.num_classes": "3",
    "model.ssd.image_resizer.fixed_shape_resizer.height": "320",
    "model.ssd.image_resizer.fixed_shape_resizer.width": "320",
    "model.ssd.anchor_generator.multiscale_anchor_generator.anchor_scale": "3.0",
    "model.ssd.anchor_generator.multiscale_anchor_generator.aspect_ratios": "[1.0, 2.0, 0.5]",
    "train_config.num_steps": str(STEPS),
    f"{RATE}.total_steps": str(STEPS),
    f"{RATE}.learning_rate_base": "0.001",
    f"{RATE}.warmup_learning_rate": "0.0001",
    "train_input_reader.label_map_path": "records/label_map.pbtxt",
    "train_input_reader.tf_record_input_reader.input_path": '["records/train.record-*"]',
    "eval_input_reader[0].label_map_path": "records/label_map.pbtxt",
    "eval_input_reader[0].tf_record_input_reader.input_path": '["records/val.record-*"]',
}


@cache
def config_text(*changes: tuple[str, str]) -> str:
    """Give the healthy config with some fields changed."""
    text = files("holdfast.config.recipes").joinpath("demo.config").read_text()
    config, problems, _ = decode(text, TrainEvalPipelineConfig)
    assert not problems, problems
    config, wrong = apply_overrides(config, HEALTHY | dict(changes))
    assert not wrong, wrong
    return encode(config)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something wrong, and the codes that name it."""

    name: str
    codes: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    events: Callable[[], list[Event]] | None = None
    train: Callable[[], list[Scene]] | None = None
    evaluation: Callable[[], list[Scene]] | None = None
    evaluation_names: Sequence[str] | None = None

    def case(self, folder: Path) -> Case:
        """Plant it; a fault of the data is written to the folder."""
        text = config_text(*self.settings.items())
        if self.train is None and self.evaluation is None and self.evaluation_names is None:
            case = case_of(text)
        else:
            train, held_out = self.train or healthy_scenes, self.evaluation or held_out_scenes
            names = self.evaluation_names
            case = data_case(folder, train(), held_out(), evaluation_names=names, config=text)
        if self.events is not None:
            case.events = tuple(sorted(self.events(), key=lambda event: event.step))
            case.run_path = Path("no-such-run")
        return case


@cache
def _healthy(count: int, first: int) -> tuple[Scene, ...]:
    return tuple(scenes(count, first=first, objects=5))


def healthy_scenes() -> list[Scene]:
    return list(_healthy(120, 0))


def held_out_scenes() -> list[Scene]:
    return list(_healthy(40, 500))


# Faults of the config.


def config_fault(name: str, code: str, *others: str, **settings: Any) -> Fault:
    """Name fields by short words for their long beginnings."""
    long = {"rate": RATE, "head": HEAD, "suppression": SUPPRESSION, "network": NETWORK}
    long |= {"loss": "model.ssd.loss", "focal": FOCAL}
    fields = {}
    for key, value in settings.items():
        first, _, rest = key.partition("__")
        path = rest.replace("__", ".")
        fields[f"{long.get(first, first)}.{path}"] = str(value)
    return Fault(name=name, codes=(code, *others), settings=fields)


def _frozen() -> Fault:
    fields = {"train_config.freeze_variables": '[".*"]'}
    return Fault(name="all is frozen", codes=("nothing-trains",), settings=fields)


CONFIG_FAULTS = (
    config_fault("rate 100 times too high", "learning-rate-high", rate__learning_rate_base=0.1),
    config_fault(
        "rate 100 times too low",
        "learning-rate-low",
        rate__learning_rate_base=1e-6,
        rate__warmup_learning_rate=1e-7,
    ),
    config_fault("decay over at 5 %", "schedule-ends-early", rate__total_steps=STEPS // 20),
    config_fault("a cosine of a longer run", "schedule-never-decays", rate__total_steps=10**6),
    config_fault("warm-up to the end", "warmup-too-long", rate__warmup_steps=STEPS),
    _frozen(),
    config_fault(
        "slow batch norm",
        "batch-norm-slow",
        network__batch_norm__decay=0.9999,
        head__conv_hyperparams__batch_norm__decay=0.9999,
    ),
    config_fault(
        "batch norm of one image",
        "batch-norm-small-batch",
        train_config__batch_size=1,
        rate__learning_rate_base=0.00025,
    ),
    config_fault(
        "strong penalty", "penalty-strong", network__regularizer__l2_regularizer__weight=0.1
    ),
    config_fault(
        "strong dropout",
        "dropout-strong",
        head__use_dropout="true",
        head__dropout_keep_probability=0.05,
    ),
    config_fault("a prior of objects", "background-prior", head__class_prediction_bias_init=4.6),
    config_fault("a high threshold", "detections-hidden", suppression__score_threshold=0.95),
    config_fault("no detection kept", "detections-hidden", suppression__max_total_detections=0),
    Fault(
        name="logits for scores",
        codes=("detections-hidden",),
        settings={"model.ssd.post_processing.score_converter": "IDENTITY"},
    ),
    config_fault("a focal loss without objects", "loss-odd", focal__alpha=0.0),
    config_fault("a focal loss without background", "loss-odd", focal__alpha=1.0),
    config_fault("a gamma of 20", "loss-odd", focal__gamma=20.0),
    config_fault("boxes hardly weighed", "loss-odd", loss__localization_weight=0.0001),
    config_fault("boxes not weighed", "nothing-trains", loss__localization_weight=0.0),
    config_fault("one hard example", "loss-odd", loss__hard_example_miner__num_hard_examples=1),
    config_fault("neighbors suppressed", "detections-hidden", suppression__iou_threshold=0.0),
    Fault(
        name="heads are frozen",
        codes=("nothing-trains",),
        settings={"train_config.freeze_variables": '["BoxPredictor"]'},
    ),
    Fault(
        name="a manual schedule in epochs",
        codes=("schedule-ends-early",),
        settings={
            "train_config.optimizer.adam_optimizer.learning_rate": "{ manual_step_learning_rate { "
            "initial_learning_rate: 0.001 schedule { step: 20 learning_rate: 0.0001 } "
            "schedule { step: 30 learning_rate: 0.00001 } } }"
        },
    ),
    config_fault(
        "clipped to nothing", "optimizer-odd", train_config__gradient_clipping_by_norm=0.0001
    ),
)


# Faults of the data.


def _with_boxes(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[], list[Scene]]:
    def made() -> list[Scene]:
        return changed(
            healthy_scenes(),
            lambda each: each._replace(boxes=change(each.boxes).clip(0, 1).astype(np.float32)),
        )

    return made


def _shuffled() -> list[Scene]:
    chance = np.random.default_rng(0)
    return changed(
        healthy_scenes(),
        lambda each: each._replace(ids=tuple(chance.integers(1, 4, len(each.ids)).tolist())),
    )


def _outside_map() -> list[Scene]:
    return changed(
        healthy_scenes(),
        lambda each: each._replace(ids=tuple(7 if i == 3 else i for i in each.ids)),
    )


def _inverted() -> list[Scene]:
    return changed(held_out_scenes(), lambda each: each._replace(pixels=255 - each.pixels))


def _dark() -> list[Scene]:
    return changed(held_out_scenes(), lambda each: each._replace(pixels=each.pixels // 3))


def _imbalanced() -> list[Scene]:
    rare = [scene(900 + number, objects=1, kinds=[2]) for number in range(5)]
    return [*scenes(110, objects=5, kinds=[1]), *rare]


def _one_class_missing() -> list[Scene]:
    return scenes(120, objects=5, kinds=[1, 2])


def _half_unlabeled() -> list[Scene]:
    every = healthy_scenes()
    bare = (each._replace(boxes=each.boxes[:0], ids=()) for each in every[:50])
    return [*bare, *every[50:]]


def _tiny() -> list[Scene]:
    def shrunk(each: Scene) -> Scene:
        middle = (each.boxes[:, :2] + each.boxes[:, 2:]) / 2
        return each._replace(boxes=np.concatenate([middle - 0.006, middle + 0.006], 1))

    return changed(healthy_scenes(), shrunk)


def _copied() -> list[Scene]:
    moved = (
        each._replace(boxes=np.roll(each.boxes, 1, axis=0) * 0.8, name=f"copy {each.name}")
        for each in healthy_scenes()[:30]
    )
    return [*healthy_scenes(), *moved]


def data_fault(name: str, *codes: str, **parts: Any) -> Fault:
    return Fault(name=name, codes=codes, **parts)


DATA_FAULTS = (
    data_fault("axes exchanged", "boxes-suspicious", train=_with_boxes(box_fit.exchanged)),
    data_fault("boxes shifted", "boxes-suspicious", train=_with_boxes(box_fit.moved(0.06, 0.06))),
    data_fault("classes shuffled", "label-noise", train=_shuffled),
    data_fault(
        "an id outside the map", "label-outside-map", "classes-mismatch", train=_outside_map
    ),
    data_fault("label map shifted", "label-shift", evaluation_names=("", "disc", "bar", "plate")),
    data_fault("evaluation leaked", "split-leak", evaluation=lambda: healthy_scenes()[:40]),
    data_fault("evaluation inverted", "odd-pixels", "distribution-shift", evaluation=_inverted),
    data_fault("evaluation dark", "distribution-shift", "odd-pixels", evaluation=_dark),
    data_fault("1 to 100", "class-imbalance", "few-examples", train=_imbalanced),
    data_fault("a class that is not there", "class-never-seen", train=_one_class_missing),
    data_fault("images without labels", "unlabelled-images", train=_half_unlabeled),
    data_fault("boxes of two pixels", "boxes-too-small", "anchors-miss-boxes", train=_tiny),
    data_fault("copies with other boxes", "duplicate-images", "boxes-suspicious", train=_copied),
    data_fault(
        "six images",
        "few-examples",
        "batch-large",
        train=lambda: healthy_scenes()[:6],
    ),
    Fault(
        name="anchors far too large",
        codes=("anchors-miss-boxes",),
        settings={
            "model.ssd.anchor_generator.multiscale_anchor_generator.anchor_scale": "12",
            "model.ssd.matcher.argmax_matcher.force_match_for_each_row": "false",
        },
        train=healthy_scenes,
    ),
    Fault(
        name="two classes too few",
        codes=("classes-mismatch",),
        settings={"model.ssd.num_classes": "1"},
        train=healthy_scenes,
    ),
)
