from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.checkpoints.own.saved_checkpoints import checkpoints_in
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.config.text.overrides import apply_overrides
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.training.loop import train
from holdfast.training.training_settings import TrainingSettings
from holdfast.training.trial import Arm, try_arms

from .small_training import config_text, given_plan

RATE = "train_config.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate"


@pytest.mark.slow
def test_arms_go_on_from_a_checkpoint_and_differ_by_what_was_changed(tmp_path: Path):
    data = tmp_path / "data"
    convert(open_source("20@64", format_name="synthetic", seed=1), str(data), val=0.0, seed=0)
    config = decode(config_text(frozen=True, chance=False), TrainEvalPipelineConfig).message
    settings = TrainingSettings(steps=6, checkpoint_every=3, evaluate_every=6, plan=given_plan())
    train(config, tmp_path / "run", settings=settings, folder=data)
    first = checkpoints_in(tmp_path / "run" / "checkpoints")[0]
    frozen, problems = apply_overrides(
        config, {f"{RATE}.learning_rate_base": "1e-9", f"{RATE}.warmup_learning_rate": "0"}
    )
    assert not problems
    arms = (
        Arm(name="as it is", config=config, settings=TrainingSettings()),
        Arm(name="without a rate", config=frozen, settings=TrainingSettings()),
        Arm(name="another seed", config=config, settings=TrainingSettings(seed=1)),
    )
    same, still, other = try_arms(arms, tmp_path / "arms", steps=3, checkpoint=first, folder=data)
    assert first.step == 3
    assert [len(each.losses) for each in (same, still, other)] == [3, 3, 3]
    assert same.losses[0] == pytest.approx(still.losses[0], rel=1e-4)  # the same weights and batch
    assert same.losses[2] != pytest.approx(still.losses[2], rel=1e-4)
    assert same.losses[0] != pytest.approx(other.losses[0], rel=1e-4)  # another order of images
    assert still.rates[-1] < 1e-8 < same.rates[-1]
    assert all(each.evaluation is not None and each.failed is None for each in (same, still, other))
