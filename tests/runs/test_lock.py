import errno
import fcntl
import os
import signal
import subprocess
import sys

import pytest

from holdfast.errors import HoldfastError
from holdfast.runs.lock import RunLock

HOLDER = """
import sys, time
from pathlib import Path
from holdfast.runs.lock import RunLock
lock = RunLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_process_is_refused_and_told_which_one_holds_it(tmp_path, holder):
    with pytest.raises(HoldfastError, match=f"process \\({holder.pid}\\) is training"):
        RunLock(tmp_path)


def test_the_lock_of_a_killed_process_is_no_obstacle(tmp_path, holder):
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    RunLock(tmp_path).release()


def test_a_lock_is_not_held_by_the_programs_that_its_holder_starts(tmp_path):
    lock = RunLock(tmp_path)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        lock.release()
        RunLock(tmp_path).release()
        process.communicate(b"\n")


def test_one_process_cannot_lock_twice(tmp_path):
    lock = RunLock(tmp_path)
    with pytest.raises(HoldfastError, match=f"process \\({os.getpid()}\\)"):
        RunLock(tmp_path)
    lock.release()
    lock.release()
    RunLock(tmp_path).release()


def test_a_folder_that_cannot_be_written_to_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(HoldfastError, match="cannot be written to: Not a directory"):
        RunLock(tmp_path / "file")


def test_a_file_system_that_cannot_lock_is_used_with_a_warning(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.warns(UserWarning, match="cannot lock files"):
        RunLock(tmp_path).release()
