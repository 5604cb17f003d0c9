from __future__ import annotations

import pytest

from holdfast.config.part_choices import parse_choice
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.errors import HoldfastError
from holdfast.runs.run import Run
from holdfast.training.open_journal import open_journal
from holdfast.training.training_settings import TrainingSettings


def test_a_run_remembers_the_parts_of_ones_own_and_refuses_others(tmp_path):
    config = TrainEvalPipelineConfig(parts=(parse_choice("head=wide,width=3"),))
    settings, run = TrainingSettings(), tmp_path / "run"
    with open_journal(config, run, settings, tmp_path):
        pass
    assert Run.open(run).part_choices == ("head=wide,width=3",)
    (run / "checkpoints" / "step-00000005").mkdir(parents=True)
    with open_journal(config, run, settings, tmp_path):
        pass  # the same parts
    with (
        pytest.raises(HoldfastError, match="head=wide,width=3"),
        open_journal(TrainEvalPipelineConfig(), run, settings, tmp_path),
    ):
        pass
