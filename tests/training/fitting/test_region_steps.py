"""Steps of detectors of two stages: regions in chunks, and many masks."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from tests.models.detectors.small_configs import small_stages
from tests.models.detectors.two_stage.tiny_network import TINY

from holdfast.config.load import load_config
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.memory.plan import BatchShape, StepSettings
from holdfast.memory.predict.prediction import Prediction, Surroundings, predict
from holdfast.memory.search.ladder import MOST_CHUNKS
from holdfast.memory.search.measured import measure
from holdfast.models.backbones.split_networks import SPLIT_NETWORKS
from holdfast.training.fitting.tracing import StepTracer
from holdfast.training.fitting.worst_batch import WorstBatch

SIDE = 512
PLAIN = StepSettings(micro_batch=1)
PUBLISHED = "zoo_configs/tf1/mask_rcnn_inception_v2_coco.config"
OPTIMIZER = """train_config { batch_size: 1 optimizer { momentum_optimizer { learning_rate {
  constant_learning_rate { learning_rate: 0.01 } } } } }"""


@pytest.fixture
def config(monkeypatch) -> TrainEvalPipelineConfig:
    """A small Mask R-CNN whose batch norm is frozen and whose regions are many and large."""
    monkeypatch.setitem(SPLIT_NETWORKS, "inception_v2", TINY)
    small = small_stages("mask_rcnn", SIDE, SIDE)
    stages = small.model.faster_rcnn
    stages = stages.replace(
        feature_extractor=stages.feature_extractor.replace(batch_norm_trainable=False),
        initial_crop_size=28,
        first_stage_max_proposals=128,
        second_stage_batch_size=128,
    )
    training = decode(OPTIMIZER, TrainEvalPipelineConfig).message.train_config
    return small.replace(model=small.model.replace(faster_rcnn=stages), train_config=training)


def shape_of(boxes: int) -> BatchShape:
    return BatchShape(height=SIDE, width=SIDE, boxes=boxes)


def tracer_of(config: TrainEvalPipelineConfig, boxes: int = 10) -> StepTracer:
    return StepTracer(config, WorstBatch(shape=shape_of(boxes), reasons=()))


def predicted(config: TrainEvalPipelineConfig, boxes: int) -> Prediction:
    return predict(tracer_of(config, boxes).step(PLAIN), Surroundings(has_arena=True))


def test_a_trace_says_how_many_chunks_there_can_be_and_what_they_compute_again(config):
    tracer = tracer_of(config)
    whole = tracer.step(PLAIN)
    assert whole.most_region_chunks == 128
    chunked = tracer.step(replace(PLAIN, region_chunks=MOST_CHUNKS))
    found = [predict(each, Surroundings(has_arena=True)) for each in (whole, chunked)]
    assert found[1].step_flops > found[0].step_flops


@pytest.mark.slow
def test_a_mask_needs_a_bit_a_pixel_of_the_step(config):
    few, many = predicted(config, boxes=10), predicted(config, boxes=100)
    # Bits in two batches, and what anchors and regions are compared by; no mask as numbers.
    assert many.peak_bytes - few.peak_bytes < 90 * SIDE * SIDE // 2


@pytest.mark.slow
def test_a_hundred_masks_need_little_more_memory_than_ten(corpus):
    path = Path(corpus) / PUBLISHED
    peaks = [predicted(load_config(path), boxes).peak_bytes for boxes in (10, 100)]
    assert peaks[1] < 1.1 * peaks[0]
    command = (sys.executable, "-m", "holdfast.training.fitting.probe_step")
    held = [
        measure(
            command,
            {"config": str(path), "settings": asdict(PLAIN), "shape": asdict(shape_of(boxes))},
        ).peak_bytes
        for boxes in (10, 100)
    ]
    assert held[1] < 1.1 * held[0]
