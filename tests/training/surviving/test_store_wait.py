from types import SimpleNamespace

import pytest

from holdfast.training.surviving import store_wait
from holdfast.training.surviving.failure import TrainingFailedError
from holdfast.training.surviving.store_wait import StoreWait

BUSY = RuntimeError("HTTP response code 503 with body '' when reading gs://cells/train.record")
DENIED = RuntimeError("HTTP response code 403 with body '' when reading gs://cells/train.record")


@pytest.fixture
def told(monkeypatch):
    monkeypatch.setattr(store_wait, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(store_wait, "_LOOK_SECONDS", 0.001)
    return []


def waiting(told) -> StoreWait:
    journal = SimpleNamespace(noted=lambda step, text: told.append((step, text)))
    return StoreWait(journal, SimpleNamespace(note=told.append))


def test_a_store_that_is_away_is_waited_for_and_told_once(told):
    wait = waiting(told)
    assert wait.wait(7, BUSY)
    assert wait.wait(7, BUSY)
    assert [each for each in told if isinstance(each, tuple)] == [(7, told[1])]
    assert "(503)" in told[1]
    wait.back()
    wait.back()
    assert told[2:] == ["The store answers again; training continues."]


def test_other_errors_are_not_waited_for(told):
    assert not waiting(told).wait(7, ValueError("a shape does not fit"))
    assert told == []


def test_what_waiting_cannot_change_ends_the_training(told):
    with pytest.raises(TrainingFailedError, match="403") as failed:
        waiting(told).wait(7, DENIED)
    assert "resumes" in failed.value.fix


def test_waiting_ends(told, monkeypatch):
    wait = waiting(told)
    assert wait.wait(7, BUSY)
    monkeypatch.setattr(store_wait, "_PATIENCE_SECONDS", -1.0)
    with pytest.raises(TrainingFailedError, match="After step 7"):
        wait.wait(7, BUSY)


def test_who_asks_to_stop_is_heard_while_waiting(told):
    wait = waiting(told)
    wait.is_stopped = lambda: True
    with pytest.raises(TrainingFailedError):
        wait.wait(7, BUSY)
