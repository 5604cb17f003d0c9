import os
import random
import resource
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import HoldfastError
from holdfast.runs.events import Event, EventLog, read_events

EVENTS = st.lists(
    st.builds(
        Event,
        st.integers(0, 20),
        st.sampled_from(["step", "evaluation", "zurück\n"]),
        st.dictionaries(
            st.text().filter(lambda key: key not in ("step", "kind", "self")),
            st.integers()
            | st.floats(allow_nan=False)
            | st.lists(st.text('aä\n\u2028"{', max_size=3)),
            max_size=3,
        ),
    )
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The name of a file; each test makes it anew."""
    return tmp_path_factory.mktemp("events") / "events.jsonl"


def write(path, events):
    path.unlink(missing_ok=True)
    log = EventLog(path)
    append(log, events)
    return log


def append(log, events):
    for event in events:
        log.append(event.step, event.kind, **event.values)


def numbers(path):
    return [event.step for event in read_events(path)]


@given(EVENTS)
def test_events_read_as_they_were_written(path, events):
    write(path, events).close()
    assert list(read_events(path)) == events


@given(EVENTS, EVENTS, st.data())
def test_a_file_cut_anywhere_gives_the_lines_before_the_cut_and_goes_on(path, events, more, data):
    write(path, events).close()
    content = path.read_bytes()
    cut = content[: data.draw(st.integers(0, len(content)))]
    path.write_bytes(cut)
    whole = events[: cut.count(b"\n")]
    assert list(read_events(path)) == whole
    log = EventLog(path)
    append(log, more)
    log.close()
    assert list(read_events(path)) == whole + more


@given(EVENTS, st.integers(-1, 21), EVENTS)
def test_truncating_drops_exactly_the_later_steps_and_the_log_goes_on(path, events, step, more):
    log = write(path, events)
    dropped = log.truncate_after(step)
    append(log, more)
    log.close()
    kept = [event for event in events if event.step <= step]
    assert list(read_events(path)) == kept + more
    assert dropped == len(events) - len(kept)
    assert os.listdir(path.parent) == [path.name]


@given(EVENTS, st.lists(st.tuples(st.integers(0, 30), st.binary(max_size=20)), max_size=5))
def test_foreign_lines_are_passed_over(path, events, foreign):
    write(path, events).close()
    lines = path.read_bytes().splitlines(keepends=True)
    for place, content in foreign:
        lines.insert(place, b"\x00" + content.replace(b"\n", b"") + b"\n")
    path.write_bytes(b"".join(lines))
    assert list(read_events(path)) == events


@pytest.mark.parametrize(
    "line", ["[1]", '"a"', "{}", '{"step": 1}', '{"step": "1", "kind": "a"}', '{"kind": "a"}']
)
def test_json_without_a_step_and_a_kind_is_no_event(path, line):
    path.write_text(f'{line}\n{{"step": 2, "kind": "a"}}\n')
    assert numbers(path) == [2]


def test_a_torn_line_longer_than_a_block_is_cut(path):
    write(path, [Event(1, "a", {})]).close()
    with path.open("ab") as stream:
        stream.write(b'{"step": 2, "kind": "' + b"x" * 200_000)
    EventLog(path).close()
    assert path.read_text() == '{"step":1,"kind":"a"}\n'


def test_a_file_that_is_one_torn_line_becomes_empty(path):
    path.write_bytes(b"x" * 200_000)
    EventLog(path).close()
    assert path.read_bytes() == b""


def test_a_missing_file_has_no_events(path):
    path.unlink(missing_ok=True)
    assert list(read_events(path)) == []


def test_reading_goes_along_with_writing(path):
    log = write(path, [Event(step, "a", {}) for step in range(2)])
    reading = read_events(path)
    assert next(reading).step == 0
    log.append(2, "a")
    assert [event.step for event in reading] == [1, 2]
    log.close()


def test_a_full_disk_is_told_and_leaves_no_half_line(path):
    log = write(path, [Event(1, "a", {})])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(HoldfastError, match="File too large"):
            log.append(2, "b", text="x" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_text() == '{"step":1,"kind":"a"}\n'
    log.append(3, "c")
    log.sync()
    log.close()
    assert numbers(path) == [1, 3]


WRITER = """
import os, sys
from pathlib import Path
from holdfast.runs.events import EventLog, read_events
path = Path(sys.argv[1])
log = EventLog(path)
step = sum(1 for _ in read_events(path))
while True:
    log.append(step, "step", text="x" * 100_000)
    os.write(1, b"%d\\n" % step)
    step += 1
"""


def test_a_killed_writer_loses_nothing_that_it_had_written(path):
    path.unlink(missing_ok=True)
    moments = random.Random(5)
    for _ in range(8):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        ) as process:
            written = [process.stdout.readline()]
            time.sleep(moments.uniform(0, 0.03))
            process.send_signal(signal.SIGKILL)
            written += process.stdout.readlines()
        found = numbers(path)
        assert found == list(range(len(found)))
        assert len(found) > max(int(line) for line in written if line.endswith("\n"))
