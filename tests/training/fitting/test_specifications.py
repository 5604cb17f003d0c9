"""The planner's description of a batch is that of the batches which the inputs deliver."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import tensorflow as tf

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.preprocessor import (
    PreprocessingStep,
    RandomCropImage,
    RandomHorizontalFlip,
)
from holdfast.config.text.decode import decode
from holdfast.data.conversion.to_records import convert
from holdfast.data.input.build_input import build_training_input, open_reader
from holdfast.data.sources.open_source import open_source
from holdfast.data.survey.statistics_cache import record_statistics
from holdfast.evaluation.build_evaluation import build_evaluation_input
from holdfast.training.fitting.plan_training import worst_specification
from holdfast.training.fitting.tracing import batch_specification, evaluation_specification
from holdfast.training.fitting.worst_batch import worst_evaluation_of, worst_of

FIXED = "fixed_shape_resizer { height: 48 width: 60 }"
KEEP = "keep_aspect_ratio_resizer { min_dimension: 32 max_dimension: 60 }"
FIELDS = frozenset({"masks", "keypoints"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    source = open_source("4@64", format_name="synthetic", seed=1)
    convert(source, str(folder), val=0.0, seed=0, num_shards=1)
    return folder


def config(folder: Path, resizer: str) -> TrainEvalPipelineConfig:
    reader = f"""label_map_path: "{folder}/label_map.pbtxt"
      load_instance_masks: true mask_type: PNG_MASKS num_keypoints: 5
      tf_record_input_reader {{ input_path: "{folder}/train.record-*" }}"""
    text = f"""
    model {{ center_net {{ num_classes: 4 image_resizer {{ {resizer} }}
      mask_estimation_task {{ }} keypoint_estimation_task {{ }} }} }}
    train_config {{ batch_size: 2 }} eval_config {{ batch_size: 2 }}
    train_input_reader {{ {reader} }} eval_input_reader {{ {reader} }}"""
    return decode(text, TrainEvalPipelineConfig).message


def opened(made, folder):
    records = open_reader(made.train_input_reader, folder)
    return records, record_statistics(records.files, records.layout, records.names)


def described(specification) -> dict[str, tuple]:
    values = specification._asdict() | specification.truth._asdict()
    return {
        name: (tuple(each.shape), each.dtype)
        for name, each in values.items()
        if isinstance(each, tf.TensorSpec)
    }


@pytest.mark.parametrize("resizer", [FIXED, KEEP])
def test_a_training_batch_is_described_with_masks_and_keypoints(folder, resizer):
    made = config(folder, resizer)
    records, statistics = opened(made, folder)
    pipeline = build_training_input(made, records, statistics)
    worst = worst_of(made, pipeline, statistics)
    delivered = worst_specification(pipeline.batches().element_spec, worst.shape)
    planned = batch_specification(2, worst.shape, FIELDS)
    assert described(delivered) == described(planned)
    width = worst.shape.width
    assert planned.truth.mask_bits.shape[2:] == (worst.shape.height, -(-width // 8))


def test_an_evaluation_batch_is_described_with_masks_and_keypoints(folder):
    made = config(folder, FIXED)
    records, statistics = opened(made, folder)
    images = build_evaluation_input(made, records, statistics)
    worst = worst_evaluation_of(made, images, statistics)
    delivered = described(images.batches().element_spec)
    assert delivered.pop("encoded_masks") == ((2, worst.shape.boxes), tf.string)
    assert delivered == described(evaluation_specification(worst, FIELDS))


def test_masks_count_among_what_decoding_holds(folder):
    made = config(folder, FIXED)
    records, statistics = opened(made, folder)
    with_masks = worst_of(made, build_training_input(made, records, statistics), statistics)
    plain = made.replace(
        model=made.model.replace(
            center_net=made.model.center_net.replace(mask_estimation_task=None)
        )
    )
    without = worst_of(plain, build_training_input(plain, records, statistics), statistics)
    assert with_masks.decoding_bytes > without.decoding_bytes


def test_only_images_that_differ_come_in_many_shapes(folder):
    def has_many_shapes(made: TrainEvalPipelineConfig, largest_width: float) -> bool:
        records, statistics = opened(made, folder)
        sizes = statistics.image_sizes
        height = replace(sizes.height, minimum=64.0, maximum=64.0)
        sizes = replace(sizes, height=height, width=replace(height, maximum=largest_width))
        statistics = replace(statistics, image_sizes=sizes)
        return worst_of(
            made, build_training_input(made, records, statistics), statistics
        ).many_shapes

    fixed, kept = config(folder, FIXED), config(folder, KEEP)

    def augmented(**step) -> TrainEvalPipelineConfig:
        options = (PreprocessingStep(**step),)
        train = kept.train_config.replace(data_augmentation_options=options)
        return kept.replace(train_config=train)

    assert not has_many_shapes(fixed, 80.0)
    assert has_many_shapes(kept, 80.0)
    assert not has_many_shapes(kept, 64.0)
    assert not has_many_shapes(augmented(random_horizontal_flip=RandomHorizontalFlip()), 64.0)
    assert has_many_shapes(augmented(random_crop_image=RandomCropImage()), 64.0)
