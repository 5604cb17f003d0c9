from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.doctor.synthetic_runs import CLASSES, healthy_steps, step_events

from holdfast.cli.train.run_watch import RunWatch
from holdfast.runs.events import Event, EventLog


def written(run: Path, events: list[Event]) -> Path:
    run.mkdir()
    log = EventLog(run / "events.jsonl")
    for event in events:
        log.append(event.step, event.kind, **event.values)
    log.close()
    return run


def test_an_error_is_told_once_with_the_command_that_shows_more(tmp_path: Path):
    events = step_events({CLASSES: np.geomspace(1.0, 80.0, 400)})
    watch = RunWatch(written(tmp_path / "run", events))
    (text,) = [each for each in watch.look(400) if each.startswith("loss-diverged")]
    assert f"`holdfast doctor {tmp_path / 'run'} --only loss-diverged` shows more" in text
    assert list(watch.look(600, is_due=True)) == []


def test_a_training_that_learns_hears_nothing(tmp_path: Path):
    watch = RunWatch(written(tmp_path / "run", healthy_steps(400)))
    assert [*watch.look(100), *watch.look(400)] == []


def test_looks_become_rarer(tmp_path: Path):
    run = written(tmp_path / "run", healthy_steps(10))
    watch = RunWatch(run)
    looked = []
    watch._tail.read = lambda: looked.append(1) or ()  # type: ignore[method-assign]
    for step in range(1, 10_001):
        list(watch.look(step))
    assert 20 < len(looked) < 60
