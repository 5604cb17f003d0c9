from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.config.text.overrides import apply_overrides, split_assignment
from holdfast.memory.plan import MemoryPlan, StepSettings
from holdfast.training.fitting.suggestions import fewer_regions, suggestions

FIXED = "fixed_shape_resizer { height: 640 width: 512 }"
KEEP = "keep_aspect_ratio_resizer { min_dimension: 600 max_dimension: 1024 }"


def model_of(extractor: str, resizer: str) -> TrainEvalPipelineConfig:
    text = (
        f'model {{ ssd {{ num_classes: 2 feature_extractor {{ type: "{extractor}" }} '
        f"image_resizer {{ {resizer} }} }} }}"
    )
    return decode(text, TrainEvalPipelineConfig).message


def plan_with(room: int) -> MemoryPlan:
    return MemoryPlan(
        fits=False,
        limit_bytes=room,
        base_bytes=0,
        predicted_peak_bytes=5000,
        items={"weights": 1000, "activations": 4000},
        settings=StepSettings(micro_batch=1),
    )


@pytest.mark.parametrize(("resizer", "names"), [(FIXED, ("height",)), (KEEP, ("min_dimension",))])
def test_the_smaller_input_can_be_set_and_would_fit(resizer, names):
    config = model_of("ssd_mobilenet_v2_keras", resizer)
    smaller, _ = suggestions(config.model, plan_with(room=3000))
    assert smaller.saved_bytes == pytest.approx(4000 - (3000 - 1000), abs=1)
    options = dict(split_assignment(each) for each in str(smaller).split("--set ")[1:])
    changed, problems = apply_overrides(config, {k: v.strip() for k, v in options.items()})
    assert not problems
    before = config.model.ssd.image_resizer.chosen("image_resizer_oneof")
    after = changed.model.ssd.image_resizer.chosen("image_resizer_oneof")
    for name in names:
        ratio = getattr(after, name) / getattr(before, name)
        assert 0 < ratio**2 <= (3000 - 1000) / 4000


@pytest.mark.parametrize(
    ("extractor", "smaller"),
    [
        ("ssd_resnet152_v1_fpn_keras", "type=ssd_resnet101_v1_fpn_keras"),
        ("ssd_efficientnet-b3_bifpn_keras", "type=ssd_efficientnet-b2_bifpn_keras"),
        ("ssd_mobilenet_v2", "depth_multiplier=0.5"),
    ],
)
def test_a_smaller_network_is_named(extractor, smaller):
    config = model_of(extractor, FIXED)
    assert str(list(suggestions(config.model, plan_with(room=500)))[-1]).endswith(smaller)


def test_no_input_size_is_promised_when_the_weights_alone_are_too_large():
    config = model_of("ssd_mobilenet_v2", FIXED)
    assert not any("input" in each.text for each in suggestions(config.model, plan_with(room=500)))


def stages_of(settings: str) -> TrainEvalPipelineConfig:
    text = f"model {{ faster_rcnn {{ num_classes: 2 {settings} }} }}"
    return decode(text, TrainEvalPipelineConfig).message


def options_of(settings: str, chunks: int = 1) -> dict[str, str]:
    plan = plan_with(room=500)
    plan = replace(plan, settings=replace(plan.settings, region_chunks=chunks))
    every = fewer_regions(stages_of(settings).model, plan)
    return {path.split(".")[-1]: new for each in every for path, new in each.options.items()}


def test_fewer_regions_are_suggested_but_never_fewer_proposals_than_are_trained_on():
    assert options_of("second_stage_batch_size: 64 first_stage_max_proposals: 300") == {
        "second_stage_batch_size": "32",
        "first_stage_max_proposals": "150",
    }
    assert options_of("second_stage_batch_size: 64 first_stage_max_proposals: 100") == {
        "second_stage_batch_size": "32",
        "first_stage_max_proposals": "64",
    }
    few = "second_stage_batch_size: 8 first_stage_max_proposals: 8"
    assert options_of(few, chunks=8) == {}  # a chunk cannot be less than a region


def test_regions_are_not_suggested_where_there_are_none():
    assert options_of("number_of_stages: 1") == {}
    assert not list(fewer_regions(model_of("ssd_mobilenet_v2", FIXED).model, plan_with(room=500)))
