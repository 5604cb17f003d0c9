from __future__ import annotations

from pathlib import Path

from holdfast.runs.event_tail import EventTail
from holdfast.runs.events import EventLog, read_events


def test_what_is_written_is_read_once_and_in_order(tmp_path: Path):
    path = tmp_path / "events.jsonl"
    tail = EventTail(path)
    assert tail.read() == ()
    log = EventLog(path)
    for step in range(1, 6):
        log.append(step, "step", value=step)
        assert [event.step for event in tail.read()] == list(range(1, step + 1))
    log.truncate_after(3)
    log.append(4, "note", text="again")
    assert tail.read() == tuple(read_events(path))
    log.close()


def test_a_line_that_is_being_written_waits(tmp_path: Path):
    path = tmp_path / "events.jsonl"
    path.write_text('{"step": 1, "kind": "step"}\nnot JSON\n{"step": 2, "ki')
    tail = EventTail(path)
    assert [event.step for event in tail.read()] == [1]
    with open(path, "a") as stream:
        stream.write('nd": "step"}\n')
    assert [event.step for event in tail.read()] == [1, 2]
