from __future__ import annotations

import re
from pathlib import Path

import pytest

from holdfast.config.load import load_config
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.summary import SummaryRow, summarize

from .texts import CONFIG, COSINE, config, write_files

RESIZER = "fixed_shape_resizer { height: 320 width: 320 }"
OPTIMIZER = CONFIG[CONFIG.index("    momentum_optimizer {\n") : CONFIG.index("    use_moving_av")]


def rows(*replacements: tuple[str, str], folder: Path = Path()) -> dict[str, str]:
    """Summarize the edited config; of equal labels the last row counts."""
    return {row.label: row.text for row in summarize(config(*replacements), folder)}


def test_nothing_is_said_about_what_is_not_set():
    assert summarize(TrainEvalPipelineConfig(), Path()) == ()


def test_a_whole_config_reads_from_architecture_to_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path / "run")
    assert summarize(config(), tmp_path / "run") == (
        SummaryRow("architecture", "SSD"),
        SummaryRow("extractor", "ssd_mobilenet_v2_fpn_keras"),
        SummaryRow("backbone", "mobilenet_v2"),
        SummaryRow("neck", "fpn, depthwise convolutions"),
        SummaryRow("head", "weight_shared, 3 x 3"),
        SummaryRow("input", "320 x 320 (fixed_shape_resizer)"),
        SummaryRow(
            "feature maps",
            "40 x 40, 20 x 20, 10 x 10, 5 x 5, 3 x 3 (strides 8, 16, 32, 64, 128)",
        ),
        SummaryRow("anchors", "40·40·6 + 20·20·6 + 10·10·6 + 5·5·6 + 3·3·6 = 12804"),
        SummaryRow("classes", "3"),
        SummaryRow("batch size", "8"),
        SummaryRow("steps", "1000"),
        SummaryRow("optimizer", "momentum 0.9"),
        SummaryRow(
            "learning rate",
            "0.02 rising to 0.08 over 100 steps, then cosine to 0 at step 1000",
        ),
        SummaryRow("augmentation", "random_horizontal_flip, random_crop_image"),
        SummaryRow("starts from", "start/ckpt-0 (detection; from the config's folder)"),
        SummaryRow("train data", "train.record (from the config's folder)"),
        SummaryRow("label map", "labels.pbtxt (from the config's folder)"),
        SummaryRow("evaluation data", "eval.record (from the config's folder)"),
        SummaryRow("label map", "labels.pbtxt (from the config's folder)"),
    )


# The model.


def zoo_rows(corpus: Path, name: str) -> dict[str, str]:
    path = corpus / "zoo_configs" / "tf2" / f"{name}.config"
    return {row.label: row.text for row in summarize(load_config(path), path.parent)}


@pytest.mark.parametrize(
    ("name", "architecture", "backbone", "neck", "size", "anchors"),
    [
        ("ssd_mobilenet_v2_320x320_coco17_tpu-8", "SSD", "mobilenet_v2", "ssd_layers", 300, 1917),
        ("ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8", "SSD", "mobilenet_v2", "fpn", 320, 12804),
        ("ssd_resnet50_v1_fpn_640x640_coco17_tpu-8", "SSD", "resnet50_v1", "fpn", 640, 51150),
        ("ssd_efficientdet_d0_512x512_coco17_tpu-8", "SSD", "efficientnet_b0", "bifpn", 512, 49104),
        (
            "centernet_hourglass104_512x512_coco17_tpu-8",
            "CenterNet",
            "hourglass_104",
            "none",
            512,
            0,
        ),
        (
            "faster_rcnn_resnet50_v1_640x640_coco17_tpu-8",
            "Faster R-CNN",
            "resnet50_v1",
            "none",
            640,
            19200,
        ),
        (
            "mask_rcnn_inception_resnet_v2_1024x1024_coco17_gpu-8",
            "Mask R-CNN",
            "inception_resnet_v2",
            "none",
            1024,
            49152,
        ),
    ],
)
def test_zoo_models_are_described_by_their_well_known_numbers(
    corpus: Path, name: str, architecture: str, backbone: str, neck: str, size: int, anchors: int
):
    said = zoo_rows(corpus, name)
    assert said["architecture"] == architecture
    assert said["backbone"].split(",")[0] == backbone
    assert said["neck"].split(",")[0] == neck
    assert said["input"].startswith(f"{size} x {size} (")
    assert said.get("anchors", " = 0").endswith(f" = {anchors}")
    assert int(said["classes"]) == 90


def test_the_arithmetic_of_the_anchors_is_right_in_every_config_of_the_corpus(corpus: Path):
    compared = 0
    for path in corpus.glob("zoo_configs/*/*.config"):
        said = {row.label: row.text for row in summarize(load_config(path), path.parent)}
        if "anchors" not in said:
            continue
        terms, _, total = said["anchors"].removeprefix("at most ").partition(" = ")
        factors = [re.findall(r"\d+", term) for term in terms.split(" + ")]
        assert sum(int(h) * int(w) * int(a) for h, w, a in factors) == int(total), path
        assert len(factors) == said["feature maps"].partition(" (")[0].count(" x ")
        compared += 1
    assert compared > 60


def test_an_unknown_extractor_leaves_out_what_follows_from_it():
    said = rows(('"ssd_mobilenet_v2_fpn_keras"', '"mine"'))
    assert said["extractor"] == "mine"
    assert {"backbone", "neck", "head", "feature maps", "anchors"}.isdisjoint(said)
    assert said["input"] == "320 x 320 (fixed_shape_resizer)"


def test_a_depth_multiplier_is_named_with_the_backbone():
    said = rows(("use_depthwise: true", "depth_multiplier: 0.75"))
    assert said["backbone"] == "mobilenet_v2, depth multiplier 0.75"
    assert said["neck"] == "fpn"


def test_the_head_is_the_one_that_the_config_chooses():
    chosen = (
        "weight_shared_convolutional_box_predictor { depth: 128 num_layers_before_predictor: 4 }"
    )
    other = "convolutional_box_predictor { kernel_size: 1 use_depthwise: true }"
    assert rows((chosen, other))["head"] == "convolutional, 1 x 1, depthwise convolutions"


def test_an_r_fcn_is_told_by_its_second_stage():
    text = "model { faster_rcnn { second_stage_box_predictor { rfcn_box_predictor { } } } }"
    assert summarize(config(text=text), Path())[0] == SummaryRow("architecture", "R-FCN")


@pytest.mark.parametrize(
    ("resizer", "said"),
    [
        (
            "keep_aspect_ratio_resizer { min_dimension: 320 max_dimension: 640 }",
            "at most 640 x 640 (keep_aspect_ratio_resizer)",
        ),
        (
            "keep_aspect_ratio_resizer { max_dimension: 640 pad_to_max_dimension: true }",
            "640 x 640 (keep_aspect_ratio_resizer)",
        ),
        ("identity_resizer { }", "any size (identity_resizer)"),
        ("", "no resizer"),
    ],
)
def test_the_input_is_a_size_a_bound_or_anything(resizer: str, said: str):
    assert rows((RESIZER, resizer))["input"] == said


def test_one_image_at_a_time_needs_no_square():
    said = rows(
        (RESIZER, "keep_aspect_ratio_resizer { min_dimension: 320 max_dimension: 640 }"),
        ("batch_size: 8", "batch_size: 1"),
    )
    assert said["input"] == "at most 320 x 640 (keep_aspect_ratio_resizer)"
    assert said["feature maps"].startswith("at most 40 x 80, 20 x 40, ")
    assert said["anchors"].startswith("at most 40·80·6 + ")


def test_a_changed_resolution_has_a_row_of_its_own():
    said = rows((RESIZER, "fixed_shape_resizer { height: 480 width: 480 }"))
    assert said["resolution"].startswith("published at 320 x 320: ")
    assert "resolution" not in rows()


# The training.


@pytest.mark.parametrize(
    ("optimizer", "said"),
    [
        ("momentum_optimizer { momentum_optimizer_value: 0.5 }", "momentum 0.5"),
        ("rms_prop_optimizer { decay: 0.95 }", "RMSProp, decay 0.95, momentum 0.9"),
        ("adam_optimizer { epsilon: 1e-4 }", "Adam, epsilon 0.0001"),
        ("", "none"),
    ],
)
def test_the_optimizer_is_named_with_its_constants(optimizer: str, said: str):
    assert rows((OPTIMIZER, f"{optimizer}\n"))["optimizer"] == said


def test_averaged_weights_are_said():
    assert rows(("use_moving_average: false", ""))["optimizer"] == "momentum 0.9, weights averaged"


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        (
            "cosine_decay_learning_rate { learning_rate_base: 0.1 total_steps: 9 warmup_steps: 0 }",
            "0.1, then cosine to 0 at step 9",
        ),
        (
            "manual_step_learning_rate { initial_learning_rate: 0.1 warmup: true "
            "schedule { step: 5 learning_rate: 0.01 } schedule { step: 7 learning_rate: 0.001 } }",
            "0.1, warm-up, 0.01 from step 5, 0.001 from step 7",
        ),
        (
            "exponential_decay_learning_rate { initial_learning_rate: 0.1 decay_steps: 5 "
            "decay_factor: 0.5 }",
            "0.1, times 0.5 every 5 steps",
        ),
        ("constant_learning_rate { learning_rate: 0.1 }", "0.1 throughout"),
    ],
)
def test_the_learning_rate_reads_as_a_story(schedule: str, said: str):
    assert rows((COSINE, schedule))["learning rate"] == said


def test_no_schedule_no_story():
    assert "learning rate" not in rows((COSINE, ""))


def test_an_endless_run_and_no_augmentation_are_said():
    said = rows(
        ("num_steps: 1000", ""),
        ("  data_augmentation_options { random_horizontal_flip { } }\n", ""),
        ("  data_augmentation_options { random_crop_image { min_area: 0.75 } }\n", ""),
    )
    assert said["steps"] == "no end (num_steps is not set)"
    assert said["augmentation"] == "none"


# The files.


def test_it_is_said_from_where_each_file_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    monkeypatch.chdir(here)
    (here / "train.record").write_bytes(b"x")
    (there / "train.record").write_bytes(b"x")
    (there / "eval.record").write_bytes(b"x")
    said = rows(('"start/ckpt-0"', '"gs://bucket/ckpt-0"'), folder=there)
    assert said["train data"] == "train.record (from the working directory)"
    assert said["evaluation data"] == "eval.record (from the config's folder)"
    assert said["starts from"] == "gs://bucket/ckpt-0 (detection; remote, not looked up)"
    assert said["label map"] == "labels.pbtxt (not found)"


def test_the_files_of_a_glob_are_counted_and_each_input_path_has_a_row(tmp_path: Path):
    for name in ("a1", "a2", "b"):
        (tmp_path / name).write_bytes(b"x")
    paths = f'input_path: ["{tmp_path}/a*", "{tmp_path}/b"]'
    texts = [
        row.text
        for row in summarize(config(('input_path: "train.record"', paths)), tmp_path)
        if row.label == "train data"
    ]
    assert texts == [f"{tmp_path}/a* (2 files, absolute)", f"{tmp_path}/b (absolute)"]


def test_a_training_from_scratch_starts_from_nothing():
    assert "starts from" not in rows(('  fine_tune_checkpoint: "start/ckpt-0"\n', ""))


def test_a_checkpoint_without_type_says_so(tmp_path: Path):
    said = rows(('  fine_tune_checkpoint_type: "detection"\n', ""), folder=tmp_path)
    assert said["starts from"] == "start/ckpt-0 (type not set; not found)"
