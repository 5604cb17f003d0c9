from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.config.load import read_config
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.validate.value_ranges import METRICS, check_settings
from holdfast.errors import ConfigError, Problem

from ..protobuf_oracle import all_messages
from ..texts import config, edited, line_of, on_lines

# EVAL_METRICS_CLASS_DICT of eval_util.py.
OD_API_METRICS = [
    *("coco_detection_metrics", "coco_keypoint_metrics", "coco_mask_metrics"),
    *("coco_panoptic_metrics", "lvis_mask_metrics", "oid_challenge_detection_metrics"),
    *("oid_challenge_segmentation_metrics", "pascal_voc_detection_metrics"),
    *("weighted_pascal_voc_detection_metrics", "precision_at_recall_detection_metrics"),
    *("pascal_voc_instance_segmentation_metrics", "oid_V2_detection_metrics"),
    "weighted_pascal_voc_instance_segmentation_metrics",
]
TYPE = '  fine_tune_checkpoint_type: "detection"\n'


def judged(*replacements: tuple[str, str]) -> list[Problem]:
    text = edited(*replacements)
    return on_lines(list(check_settings(config(text=text))), text)


def added(field: str, block: str = "train_config {\n") -> Problem:
    """Add a field on the line below the opening of a block, and give what is said about it."""
    text = edited((block, f"{block}  {field}\n"))
    (problem,) = on_lines(list(check_settings(config(text=text))), text)
    assert problem.line == line_of(f"  {field}\n", text)
    return problem


def test_a_good_config_gives_nothing_to_say():
    assert judged() == []
    assert list(check_settings(TrainEvalPipelineConfig())) == []


# Deprecated fields.


@pytest.mark.parametrize(
    ("block", "field"),
    [
        ("train_config {\n", "batch_queue_capacity: 100"),
        ("train_config {\n", "num_batch_queue_threads: 4"),
        ("train_config {\n", "prefetch_queue_capacity: 10"),
        ("train_config {\n", "max_number_of_boxes: 50"),
        ("eval_config {\n", "num_examples: 8000"),
        ("eval_config {\n", "max_evals: 10"),
        ("eval_input_reader {\n", "queue_capacity: 10"),
        ("eval_input_reader {\n", "min_after_dequeue: 10"),
        ("train_input_reader {\n", "prefetch_size: 10"),
        ("train_input_reader {\n", "num_parallel_map_calls: 10"),
    ],
)
def test_a_deprecated_field_is_a_warning_that_says_what_to_do(block: str, field: str):
    problem = added(field, block)
    name = field.partition(":")[0]
    assert problem.severity == "warning"
    assert problem.path.endswith(f".{name}")
    assert problem.message == f"{name} is deprecated and has no effect"
    assert problem.fix


def test_a_deprecated_field_is_reported_even_when_set_to_its_default():
    assert added("batch_queue_capacity: 150").severity == "warning"


def test_fields_deprecated_by_the_od_api_are_those_that_are_reported():
    """The fields that its .proto files mark, and those whose comments say so."""
    marked = {
        *("num_examples", "max_evals"),
        *("queue_capacity", "min_after_dequeue", "prefetch_size", "num_parallel_map_calls"),
        *("from_detection_checkpoint", "batch_queue_capacity", "num_batch_queue_threads"),
        *("prefetch_queue_capacity", "max_number_of_boxes"),
    }
    messages = all_messages(TrainEvalPipelineConfig, StringIntLabelMap)
    reported = {name for message in messages for name in message.deprecated}
    assert marked <= reported
    assert reported - marked == {"anchorwise_output"}


def test_an_old_way_to_say_that_the_checkpoint_is_a_detector_still_acts():
    problem = added("from_detection_checkpoint: true")
    assert (problem.severity, problem.message) == (
        "warning",
        "from_detection_checkpoint is deprecated",
    )
    assert problem.fix == 'use fine_tune_checkpoint_type: "detection"'


# Training.


def test_a_batch_of_no_images_is_refused():
    (problem,) = judged(("batch_size: 8", "batch_size: 0"))
    assert (problem.severity, problem.path) == ("error", "train_config.batch_size")
    assert problem.line == line_of("batch_size: 8")
    assert judged(("batch_size: 8", "batch_size: 1")) == []


@pytest.mark.parametrize("steps", ["num_steps: 0", ""])
def test_a_training_without_end_is_a_warning(steps: str):
    (problem,) = judged(("num_steps: 1000", steps))
    assert (problem.severity, problem.path) == ("warning", "train_config.num_steps")
    assert "no end" in problem.message


def test_bfloat16_is_said_to_act_on_a_tpu_only():
    problem = added("use_bfloat16: true")
    assert (problem.severity, problem.path) == ("warning", "train_config.use_bfloat16")
    assert "TPUs only" in problem.message
    assert "--precision" in problem.fix
    assert judged(("train_config {\n", "train_config { use_bfloat16: false\n")) == []


def test_an_augmentation_block_without_augmentation_is_refused():
    flip = "data_augmentation_options { random_horizontal_flip { } }"
    (problem,) = judged((flip, "data_augmentation_options { }"))
    assert problem.severity == "error"
    assert problem.path == "train_config.data_augmentation_options[0]"
    assert problem.line == line_of(flip)
    assert judged((flip, "")) == []


# The checkpoint.


@pytest.mark.parametrize("kind", ["classification", "detection", "full", "fine_tune"])
def test_the_checkpoint_types_of_the_od_api_are_accepted(kind: str):
    assert judged((TYPE, f'fine_tune_checkpoint_type: "{kind}"\n')) == []


@pytest.mark.parametrize(
    ("kind", "fix"),
    [
        ("detections", "write 'detection'"),
        ("Classification", "write 'classification'"),
        ("all", "write one of classification, detection, full, fine_tune"),
    ],
)
def test_another_checkpoint_type_is_refused_with_the_nearest(kind: str, fix: str):
    (problem,) = judged((TYPE, f'  fine_tune_checkpoint_type: "{kind}"\n'))
    assert (problem.severity, problem.fix) == ("error", fix)
    assert problem.line == line_of("fine_tune_checkpoint_type")
    assert problem.message == f"{kind!r} is not a checkpoint type"


def test_an_unset_checkpoint_type_is_a_warning_because_it_means_classification():
    (problem,) = judged((TYPE, ""))
    assert (problem.severity, problem.path) == (
        "warning",
        "train_config.fine_tune_checkpoint_type",
    )
    assert "means 'classification'" in problem.message


def test_without_a_checkpoint_its_type_does_not_matter():
    assert judged((TYPE, ""), ('  fine_tune_checkpoint: "start/ckpt-0"\n', "")) == []


def test_the_old_field_decides_the_type_so_that_nothing_is_missing():
    problems = judged((TYPE, "from_detection_checkpoint: true\n"))
    assert [each.path for each in problems] == ["train_config.from_detection_checkpoint"]


def test_loading_all_variables_is_a_warning_because_the_tf2_half_refuses_it():
    problem = added("load_all_detection_checkpoint_vars: true")
    assert (problem.severity, problem.message) == ("warning", "the OD API's TF2 half refuses it")
    assert (
        judged(("train_config {", "train_config { load_all_detection_checkpoint_vars: false")) == []
    )


# Metrics.


@pytest.mark.parametrize("name", OD_API_METRICS)
def test_the_metrics_of_the_od_api_are_accepted(name: str):
    assert judged(('"coco_detection_metrics"', f'"{name}"')) == []


def test_no_other_metrics_are_accepted():
    assert sorted(METRICS) == sorted(OD_API_METRICS)


OWN = "; a metric of your own needs --import MODULE"


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("coco_detection_metric", f"write 'coco_detection_metrics'{OWN}"),
        ("pascal_voc_metrics", "write 'pascal_voc_detection_metrics'"),
        ("open_images_metrics", "write 'oid_V2_detection_metrics'"),
        ("xyz", f"write 'coco_detection_metrics'{OWN}"),
    ],
)
def test_another_metric_is_refused_with_what_to_write(name: str, fix: str):
    (problem,) = judged(('"coco_detection_metrics"', f'["coco_mask_metrics", "{name}"]'))
    assert (problem.severity, problem.fix) == ("error", fix)
    assert problem.path == "eval_config.metrics_set[1]"
    assert problem.line == line_of("metrics_set")


def test_the_odd_metrics_of_the_corpus_get_the_substitute_that_measures_the_same(corpus: Path):
    fixes = {}
    for path in [*corpus.glob("zoo_configs/*/*.config"), *corpus.glob("user_configs/*.config")]:
        try:
            source = read_config(path)
        except ConfigError:  # not UTF-8
            continue
        for problem in check_settings(source.message):
            if "there is no metric" in problem.message:
                fixes[problem.message.split()[-1]] = problem.fix
    assert fixes == {
        "'coco_metrics'": "write 'coco_detection_metrics'",
        "'open_images_metrics'": "write 'oid_V2_detection_metrics'",
        "'open_images_V2_detection_metrics'": "write 'oid_V2_detection_metrics'",
        "'pascal_voc_metrics'": "write 'pascal_voc_detection_metrics'",
    }
