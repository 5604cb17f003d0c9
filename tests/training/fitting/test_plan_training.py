"""The plan of a training: made before step 1, of the very functions that will run."""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf
from tests.training.small_training import config_text

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.memory.predict.items import EVALUATION
from holdfast.memory.predict.prediction import UnpredictableError
from holdfast.training.fitting import choice
from holdfast.training.fitting.plan_training import plan_training
from holdfast.training.reporter import Reporter
from holdfast.training.session import Session
from holdfast.training.training_settings import TrainingSettings


class Notes(Reporter):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    folder: Path = tmp_path_factory.mktemp("data")
    convert(open_source("10@64", format_name="synthetic", seed=1), str(folder), val=0.0, seed=0)
    text = config_text(deep=True) + "eval_config { batch_size: 4 }"
    config = decode(text, TrainEvalPipelineConfig).message
    return Session(config, TrainingSettings(), folder, tf.distribute.get_strategy())


def test_the_evaluation_is_planned_and_not_traced_again(session):
    plan = plan_training(session, TrainingSettings(), Notes())
    assert plan.items[EVALUATION] > 0
    assert sum(plan.items.values()) == plan.predicted_peak_bytes
    traced = session.evaluation_parts().step._run
    before = traced.experimental_get_tracing_count()
    session.evaluate(lambda done, total: None)
    assert before > 0
    assert traced.experimental_get_tracing_count() == before


def test_what_cannot_be_predicted_is_trained_without_a_plan(session, monkeypatch):
    def refuse(*_given):
        raise UnpredictableError("The memory of the training step cannot be predicted.", fix="")

    monkeypatch.setattr(choice, "predict_graph", refuse)
    notes = Notes()
    plan = plan_training(session, TrainingSettings(), notes)
    assert plan.settings == session.step_settings
    assert plan.items == {}
    assert "cannot be predicted" in notes.notes[0]
    assert "without a plan" in notes.notes[0]
