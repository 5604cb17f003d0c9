"""No setting of training or evaluation is ignored in silence."""

from __future__ import annotations

import dataclasses

import pytest

from holdfast.config.schema.eval import EvalConfig
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.config.validate import validate
from holdfast.config.validate.unsupported import check_obedience
from holdfast.errors import Problem

from ..texts import config, edited, line_of, on_lines

OBEYED = {
    TrainConfig: {
        *("batch_size", "num_steps", "data_augmentation_options", "optimizer"),
        *("gradient_clipping_by_norm", "bias_grad_multiplier", "add_regularization_loss"),
        *("update_trainable_variables", "freeze_variables"),
        *("fine_tune_checkpoint", "fine_tune_checkpoint_type", "from_detection_checkpoint"),
        *("load_all_detection_checkpoint_vars", "use_bfloat16"),
    },
    EvalConfig: {
        *("batch_size", "metrics_set", "use_moving_averages", "force_no_resize"),
        *("include_metrics_per_category", "all_metrics_per_category", "super_categories"),
        *("num_visualizations", "min_score_threshold", "max_num_boxes_to_visualize"),
        *("retain_original_images", "parameterized_metric", "keypoint_edge"),
    },
}
# Whatever they say, what they decide in the OD API comes out the same here: the version of a
# checkpoint is seen in the checkpoint, nothing needs to be computed before it is loaded, and
# padding of ground truth never counts.
NO_DIFFERENCE = {
    TrainConfig: {
        *("fine_tune_checkpoint_version", "run_fine_tune_checkpoint_dummy_computation"),
        "unpad_groundtruth_tensors",
    },
    EvalConfig: set(),
}
# field, and a value that asks for something in vain
WARNED = [
    ("train_config", "sync_replicas: false"),
    ("train_config", "startup_delay_steps: 15"),
    ("train_config", "replicas_to_aggregate: 8"),
    ("train_config", "keep_checkpoint_every_n_hours: 24"),
    ("train_config", "retain_original_images: true"),
    ("train_config", "summarize_gradients: true"),
    ("eval_config", "eval_interval_secs: 300"),
    ("eval_config", "save_graph: true"),
    ("eval_config", 'visualization_export_dir: "pictures"'),
    ("eval_config", "keep_image_id_for_visualization_export: true"),
    ("eval_config", 'eval_master: "grpc://far"'),
    ("eval_config", 'export_path: "found.json"'),
    ("eval_config", "ignore_groundtruth: true"),
    ("eval_config", "eval_instance_masks: true"),
    ("eval_config", "skip_scores: true"),
    ("eval_config", "skip_labels: true"),
    ("eval_config", "visualize_groundtruth_boxes: false"),
    ("eval_config", 'groundtruth_box_visualization_color: "red"'),
    ("eval_config", "recall_lower_bound: 0.1"),
    ("eval_config", "recall_upper_bound: 0.9"),
    ("eval_config", "retain_original_image_additional_channels: true"),
    ("eval_config", "use_dummy_loss_in_eval: true"),
    ("eval_config", "image_classes_field_map_empty_to_ones: false"),
]
REFUSED = [
    ("train_config", "merge_multiple_label_boxes: true"),
    ("train_config", "use_multiclass_scores: true"),
    ("eval_config", "skip_predictions_for_unlabeled_class: true"),
]
HARMLESS = [
    ("train_config", "sync_replicas: true startup_delay_steps: 0 replicas_to_aggregate: 1"),
    ("train_config", "merge_multiple_label_boxes: false unpad_groundtruth_tensors: false"),
    ("eval_config", "visualize_groundtruth_boxes: true use_dummy_loss_in_eval: false"),
    ("eval_config", "skip_predictions_for_unlabeled_class: false use_moving_averages: false"),
]


def added(block: str, field: str) -> list[Problem]:
    """Add a field on the line below the opening of a block, and give what is said about it."""
    text = edited((f"{block} {{\n", f"{block} {{\n  {field}\n"))
    problems = on_lines(list(check_obedience(config(text=text))), text)
    assert all(problem.line == line_of(f"  {field}\n", text) for problem in problems)
    return problems


def name_of(field: str) -> str:
    return field.replace("{", ":").partition(":")[0].strip()


@pytest.mark.parametrize("message", [TrainConfig, EvalConfig])
def test_every_field_is_obeyed_warned_of_or_refused(message):
    block = "train_config" if message is TrainConfig else "eval_config"
    judged = {name_of(field) for place, field in WARNED + REFUSED if place == block}
    known = [OBEYED[message], NO_DIFFERENCE[message], judged, set(message.deprecated)]
    fields = {field.name for field in dataclasses.fields(message)}
    assert set().union(*known) == fields
    assert sum(map(len, known)) - len(fields) == len(
        OBEYED[message] & set(message.deprecated)  # from_detection_checkpoint still acts
    )


@pytest.mark.parametrize(("block", "field"), WARNED)
def test_a_setting_without_effect_is_a_warning_with_a_fix(block, field):
    (problem,) = added(block, field)
    assert problem.severity == "warning"
    assert problem.path.removesuffix("[0]") == f"{block}.{name_of(field)}"
    assert problem.message
    assert problem.fix


@pytest.mark.parametrize(("block", "field"), REFUSED)
def test_a_setting_that_changes_the_result_and_cannot_be_obeyed_is_refused(block, field):
    (problem,) = added(block, field)
    assert problem.severity == "error"
    assert problem.path.removesuffix("[0]") == f"{block}.{name_of(field)}"
    assert problem.fix


@pytest.mark.parametrize(("block", "field"), HARMLESS)
def test_what_is_as_it_says_needs_no_word(block, field):
    assert added(block, field) == []


def test_a_good_config_gives_nothing_to_say(tmp_path):
    assert list(check_obedience(config())) == []
    assert list(check_obedience(TrainEvalPipelineConfig())) == []


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("lvis_mask_metrics", "coco_mask_metrics"),
        ("oid_challenge_detection_metrics", "oid_V2_detection_metrics"),
        ("weighted_pascal_voc_detection_metrics", "pascal_voc_detection_metrics"),
    ],
)
def test_a_metric_that_is_not_computed_is_refused_with_one_that_is(name, instead):
    text = edited(('"coco_detection_metrics"', f'["coco_detection_metrics", "{name}"]'))
    (problem,) = check_obedience(config(text=text))
    assert (problem.severity, problem.path) == ("error", "eval_config.metrics_set[1]")
    assert repr(instead) in problem.fix


def test_averages_that_nobody_keeps_cannot_be_evaluated():
    (problem,) = added("eval_config", "use_moving_averages: true")
    assert (problem.severity, problem.path) == ("warning", "eval_config.use_moving_averages")
    kept = config(
        ("use_moving_average: false", "use_moving_average: true"),
        ("eval_config {\n", "eval_config { use_moving_averages: true\n"),
    )
    assert list(check_obedience(kept)) == []


def test_a_second_evaluation_reader_is_said_to_be_left_out(tmp_path):
    second = 'eval_input_reader { tf_record_input_reader { input_path: "b.record" } }\n'
    text = edited(("eval_config {\n", f"{second}eval_config {{\n"))
    problems = [each.path for each in validate(config(text=text), tmp_path)]
    assert "eval_input_reader[1]" in problems
