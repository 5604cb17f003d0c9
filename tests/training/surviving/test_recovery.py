"""A training whose memory runs out goes on in a cheaper way, as if nothing had happened."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from tests.training.small_training import config_text, given_plan

from holdfast.config.schema.eval import EvalConfig
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.data.conversion.to_records import convert
from holdfast.data.input.evaluation_input import EvaluationBatch
from holdfast.data.sources.open_source import open_source
from holdfast.evaluation.evaluation_step import EvaluatedBatch
from holdfast.models.inference.detections import Detections
from holdfast.runs.run import Run
from holdfast.training.loop import train
from holdfast.training.reporter import Reporter
from holdfast.training.session import Session
from holdfast.training.step.training_step import TrainingStep
from holdfast.training.surviving.evaluation_pieces import EvaluationInPieces
from holdfast.training.surviving.failure import TrainingFailedError
from holdfast.training.surviving.recovery import descend
from holdfast.training.training_settings import TrainingSettings

PROGRAM = Path(__file__).parents[1] / "limited_training.py"
STEPS = 4


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    convert(open_source("20@64", format_name="synthetic", seed=1), str(folder), val=0.0, seed=0)
    return folder


def limited(data: Path, run: Path, *options: str) -> str:
    """Train in a process of its own; give what it prints."""
    command = [sys.executable, str(PROGRAM), str(data), str(run), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def losses(run: Path) -> np.ndarray:
    """Give the total losses; every step must be there, once and in order."""
    events = [event for event in Run.open(run).read_events() if event.kind == "step"]
    assert [event.step for event in events] == list(range(1, len(events) + 1))
    return np.array([event.values["losses"]["Loss/total_loss"] for event in events])


def recoveries(run: Path) -> list[dict]:
    return [event.values for event in Run.open(run).read_events() if event.kind == "recovered"]


@pytest.mark.slow
def test_memory_that_really_ran_out_changes_no_loss(data, tmp_path):
    limited(data, tmp_path / "free")
    limited(data, tmp_path / "tight", "--limit", "220")
    (recovery,) = recoveries(tmp_path / "tight")
    assert recovery["after"]["accumulation"] == 1  # blocks computed twice were enough
    assert "OOM when allocating" in recovery["reason"]
    np.testing.assert_allclose(losses(tmp_path / "tight"), losses(tmp_path / "free"), rtol=1e-5)
    # Resumed with the same command, it does not run into the wall again.
    printed = limited(data, tmp_path / "tight", "--limit", "220", "--steps", "4")
    assert "continuing as it ended: whole batch" in printed
    assert len(losses(tmp_path / "tight")) == 4
    assert len(recoveries(tmp_path / "tight")) == 1


@pytest.mark.slow
def test_less_memory_is_met_with_smaller_pieces(data, tmp_path):
    limited(data, tmp_path / "free", "--side", "256")
    limited(data, tmp_path / "tight", "--side", "256", "--limit", "300")
    last = recoveries(tmp_path / "tight")[-1]
    assert last["after"]["accumulation"] > 1
    np.testing.assert_allclose(losses(tmp_path / "tight"), losses(tmp_path / "free"), rtol=1e-4)


class Notes(Reporter):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, text: str) -> None:
        self.texts.append(text)


def train_small(data: Path, run: Path, **settings: int) -> Notes:
    notes = Notes()
    train(
        decode(config_text(evaluates=False), TrainEvalPipelineConfig).message,
        run,
        settings=TrainingSettings(
            evaluate_every=100,
            plan=given_plan(),
            **({"steps": STEPS, "checkpoint_every": 100} | settings),
        ),
        folder=data,
        reporter=notes,
    )
    return notes


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """The losses of a run with dropout, sampling and moving statistics that nothing disturbed."""
    run = tmp_path_factory.mktemp("whole") / "run"
    train_small(data, run)
    return losses(run)


class Shortage:
    """Makes the step with some number run out of memory, after it did something."""

    def __init__(self, number: int, before, times: int = 1) -> None:
        self.number, self.before, self.times = number, before, times

    def around(self, run, step: TrainingStep):
        def short(batch, number):
            if int(number) == self.number and self.times:
                self.times -= 1
                self.before(step, lambda: run(batch, number))
                raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor")
            return run(batch, number)

        short.get_concrete_function = run.get_concrete_function  # the plan traces, and runs nothing
        return short


@pytest.fixture
def plant(monkeypatch):
    def planted(shortage: Shortage) -> None:
        split = TrainingStep.split

        def split_short(self, accumulation):
            split(self, accumulation)
            traced = self.run
            self.run = shortage.around(traced, self)
            self.run.experimental_get_tracing_count = traced.experimental_get_tracing_count

        monkeypatch.setattr(TrainingStep, "split", split_short)

    return planted


def scramble(step: TrainingStep, run) -> None:
    """Change what a step changes before it moves the weights."""
    for variable in step.side_state:
        variable.assign(tf.ones_like(variable) * 3)


def test_a_step_is_repeated_from_the_state_before_it(data, tmp_path, whole, plant):
    plant(Shortage(2, scramble))
    notes = train_small(data, tmp_path / "run")
    (recovery,) = recoveries(tmp_path / "run")
    assert recovery["repeated"] == 0
    assert any("Out of memory after step 2" in text for text in notes.texts)
    np.testing.assert_allclose(losses(tmp_path / "run"), whole, rtol=1e-5)


@pytest.mark.slow
def test_torn_weights_are_replaced_by_those_of_the_last_checkpoint(data, tmp_path, whole, plant):
    plant(Shortage(3, lambda step, run: run()))  # the weights have moved
    train_small(data, tmp_path / "run", checkpoint_every=2)
    (recovery,) = recoveries(tmp_path / "run")
    assert recovery["repeated"] == 1
    np.testing.assert_allclose(losses(tmp_path / "run"), whole, rtol=1e-5)


def test_torn_weights_without_a_checkpoint_stop_the_training(data, tmp_path, plant):
    plant(Shortage(1, lambda step, run: run()))
    with pytest.raises(TrainingFailedError, match="no checkpoint is there"):
        train_small(data, tmp_path / "run")


@pytest.mark.slow
def test_when_nothing_is_left_what_was_learned_is_saved(data, tmp_path, whole, plant, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Session, "cheaper_settings", lambda self: ())
        shortage = Shortage(2, scramble)
        plant(shortage)
        with pytest.raises(TrainingFailedError, match="computed in the cheapest way") as failure:
            train_small(data, tmp_path / "run")
        assert "resumes after step 2" in failure.value.fix
    train_small(data, tmp_path / "run")
    np.testing.assert_allclose(losses(tmp_path / "run"), whole, rtol=1e-5)


def test_other_errors_are_not_taken_for_it(data, tmp_path, plant):
    def fail(step: TrainingStep, run) -> None:
        raise tf.errors.InvalidArgumentError(None, None, "shapes differ")

    plant(Shortage(0, fail))
    with pytest.raises(tf.errors.InvalidArgumentError):
        train_small(data, tmp_path / "run")


def note_facts(run: Path, **facts: object) -> None:
    """Note in the manifest what a supervisor or a killed process would."""
    with Run.resume(run) as opened:
        opened.update(facts={**opened.manifest.facts, **facts})


@pytest.mark.slow
def test_the_process_after_one_that_memory_killed_takes_the_next_cheaper_way(data, tmp_path, whole):
    run = tmp_path / "run"
    train_small(data, run, steps=2)
    note_facts(run, ran_out="the kernel killed a process because memory ran out")
    notes = train_small(data, run)
    (recovery,) = recoveries(run)
    assert recovery["reason"].startswith("the kernel killed")
    assert recovery["before"]["rematerialize"] == []
    assert recovery["after"]["rematerialize"]
    assert any("Out of memory after step 2" in text for text in notes.texts)
    plan, facts = Run.open(run).manifest.plan, Run.open(run).manifest.facts
    assert plan["settings"]["rematerialize"] == recovery["after"]["rematerialize"]
    assert "ran_out" not in facts
    assert facts["recovered"]["after"] == recovery["after"]  # a later resume keeps to it
    np.testing.assert_allclose(losses(run), whole, rtol=1e-5)


@pytest.mark.slow
def test_where_no_cheaper_way_is_left_it_is_said_and_more_memory_helps(data, tmp_path, monkeypatch):
    run = tmp_path / "run"
    train_small(data, run, steps=1)
    note_facts(run, ran_out="it held all there was")
    with monkeypatch.context() as patch:
        patch.setattr(Session, "cheaper_settings", lambda self, settings=None: ())
        with pytest.raises(TrainingFailedError, match="cheapest way: it held all there was"):
            train_small(data, run, steps=2)
    train_small(data, run, steps=2)
    assert len(losses(run)) == 2


@pytest.mark.parametrize(("before", "after"), [(None, 4), (4, 2)])
def test_an_evaluation_that_memory_killed_is_done_in_smaller_pieces(before, after):
    journal, session, notes = FakeJournal(evaluated_at_once=before), fake_session(), Notes()
    journal.facts |= {"ran_out": "it held much", "evaluating": {"images_at_once": before}}
    descend(session, journal, notes)
    assert session.evaluated_at_once == after
    assert journal.facts == {"evaluated_at_once": after}
    assert notes.texts[0].endswith(f"now takes {after} images at once.")


def test_an_evaluation_of_one_image_cannot_be_made_smaller():
    journal = FakeJournal(ran_out="it held much", evaluating={"images_at_once": 1})
    with pytest.raises(TrainingFailedError, match="one image is evaluated at a time"):
        descend(fake_session(), journal, Notes())


def test_a_kill_in_an_evaluation_that_was_not_for_memory_changes_nothing():
    journal, session = FakeJournal(evaluating={"images_at_once": None}), fake_session()
    descend(session, journal, Notes())
    assert session.evaluated_at_once is None
    assert journal.facts == {}


class FakeJournal:
    latest_step = 3

    def __init__(self, **facts: object) -> None:
        self.facts = {name: value for name, value in facts.items() if value is not None}

    def recall(self, key: str) -> object:
        return self.facts.get(key)

    def remember(self, key: str, value: object) -> None:
        self.facts[key] = value

    def forget(self, *keys: str) -> None:
        for key in keys:
            self.facts.pop(key, None)

    def noted(self, step: int, text: str) -> None:
        assert step == self.latest_step


def fake_session() -> SimpleNamespace:
    config = TrainEvalPipelineConfig(eval_config=EvalConfig(batch_size=8))
    return SimpleNamespace(config=config, evaluated_at_once=None)


def test_every_image_is_evaluated_once_in_ever_smaller_pieces():
    sizes, notes = [], []

    def step(batch: EvaluationBatch) -> EvaluatedBatch:
        count = int(batch.images.shape[0])
        if count > 3:
            raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor")
        sizes.append(count)
        values = tf.reshape(batch.images, [count, -1])[:, :1]
        detections = Detections(
            boxes=tf.zeros([count, 1, 4]),
            scores=values,
            classes=tf.zeros([count, 1], tf.int32),
            count=tf.ones([count], tf.int32),
        )
        real = tf.boolean_mask(values, batch.is_real)
        return EvaluatedBatch(
            detections, {"loss": tf.math.divide_no_nan(tf.reduce_sum(real), len(real))}
        )

    images = tf.reshape(tf.range(10.0), [10, 1, 1, 1])
    batch = EvaluationBatch(
        images=images,
        sizes=tf.ones([10, 3], tf.int32),
        original_sizes=tf.ones([10, 2], tf.int32),
        truth=(tf.zeros([10, 2, 4]),),
        source_ids=tf.fill([10], "a"),
        is_real=tf.range(10) < 9,
    )
    evaluate = EvaluationInPieces(step, notes.append)
    result = evaluate(batch)
    assert sizes == [2] * 5
    assert len(notes) == 2
    assert result.detections.scores[:, 0].numpy().tolist() == list(range(10))
    assert float(result.losses["loss"]) == pytest.approx(4.0)  # of the nine real ones
    evaluate(batch)
    assert len(notes) == 2  # what was too large is not tried again


def test_one_image_that_does_not_fit_ends_the_evaluation():
    def step(batch: tf.Tensor) -> EvaluatedBatch:
        raise MemoryError

    batch = EvaluationBatch(*([tf.zeros([1, 4])] * 6))
    with pytest.raises(TrainingFailedError, match="one image"):
        EvaluationInPieces(step)(batch)
