"""From a config to the parts of an evaluation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.errors import ConfigError, HoldfastError
from holdfast.evaluation.build_evaluation import build_evaluation_input, build_metrics_set

from .setups import NUM_IMAGES, config

KEEP = "keep_aspect_ratio_resizer { min_dimension: 32 max_dimension: 64 }"


def input_of(made, folder, *, batch_size=None, **changes):
    changed = config(folder, **changes)
    return build_evaluation_input(changed, made.records, made.statistics, batch_size=batch_size)


def metrics_of(made, folder, evaluation: str):
    return build_metrics_set(config(folder, evaluation=evaluation), made.records)


def test_the_batch_size_is_that_of_the_config_unless_another_is_given(made, records_folder):
    assert input_of(made, records_folder).batch_size == 4
    assert input_of(made, records_folder, batch_size=3).batch_size == 3


def test_images_of_unequal_shape_are_batches_of_one(made, records_folder):
    assert input_of(made, records_folder, resizer=KEEP).batch_size == 1


def test_a_sample_of_the_records_is_taken_as_the_reader_says(made, records_folder):
    sampled = input_of(made, records_folder, reader="sample_1_of_n_examples: 3")
    assert sampled.num_images == 4
    assert input_of(made, records_folder).num_images == NUM_IMAGES


def test_images_keep_their_size_when_the_config_says_so(made, records_folder):
    big = "fixed_shape_resizer { height: 200 width: 200 }"
    made_input = input_of(made, records_folder, resizer=big, evaluation="force_no_resize: true")
    batch = next(iter(made_input.batches()))
    assert batch.images.shape == (1, 96, 96, 3)


def test_coco_is_the_default_and_classes_come_from_the_label_map(made, records_folder):
    metrics = metrics_of(made, records_folder, "")
    assert metrics.names == ("coco_detection_metrics",)
    assert dict(metrics.classes) == {1: "ellipse", 2: "rectangle", 3: "star", 4: "triangle"}
    assert not metrics.categories.included


def test_metrics_of_classes_and_groups_are_chosen_by_the_config(made, records_folder):
    text = """
    include_metrics_per_category: true
    all_metrics_per_category: true
    super_categories { key: "round" value: "ellipse, star" }
    """
    categories = metrics_of(made, records_folder, text).categories
    assert (categories.included, categories.all_measures) == (True, True)
    assert categories.groups == {"round": ["ellipse", "star"]}


def test_classes_of_equal_name_are_told_apart_by_their_id(made, records_folder):
    records = replace(made.records, names={1: "cat", 2: "dog", 3: "cat"})
    metrics = build_metrics_set(config(records_folder), records)
    assert list(metrics.classes.values()) == ["cat (1)", "dog", "cat (3)"]


def test_without_a_label_map_classes_are_called_by_their_id(made, records_folder):
    records = replace(made.records, names=None)
    classes = build_metrics_set(config(records_folder), records).classes
    assert classes == {1: "1", 2: "2", 3: "3", 4: "4"}


def test_a_setting_that_is_not_supported_is_an_error(made, records_folder):
    with pytest.raises(ConfigError, match="Holdfast does not support it"):
        metrics_of(made, records_folder, "skip_predictions_for_unlabeled_class: true")


def test_metrics_that_are_not_computed_are_an_error(made, records_folder):
    with pytest.raises(HoldfastError, match="does not compute lvis_mask_metrics"):
        metrics_of(made, records_folder, 'metrics_set: "lvis_mask_metrics"')


def test_a_config_without_a_detector_is_an_error(made):
    empty = decode("", TrainEvalPipelineConfig).message
    with pytest.raises(HoldfastError, match="no detector with an image_resizer"):
        build_evaluation_input(empty, made.records, made.statistics)
