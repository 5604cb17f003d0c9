"""Claims: one process at a time, and nobody waits for the dead."""

from __future__ import annotations

import signal
import subprocess
import sys

from holdfast.tuning.file_claims import FileClaim

HOLDER = """
import sys, time
from pathlib import Path
from holdfast.tuning.file_claims import FileClaim
held = FileClaim.claimed(Path(sys.argv[1]), waits=False)
print("held", flush=True)
time.sleep(600)
"""


def test_a_claim_ends_with_the_process_that_was_killed(tmp_path):
    path = tmp_path / "claims" / "one"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        assert FileClaim.claimed(path, waits=False) is None
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    claim = FileClaim.claimed(path, waits=False)
    assert claim is not None
    claim.release()


def test_what_was_let_go_can_be_claimed_again(tmp_path):
    with FileClaim.claimed(tmp_path / "one", waits=False):
        assert FileClaim.claimed(tmp_path / "one", waits=False) is None
    with FileClaim.claimed(tmp_path / "one", waits=False) as again:
        assert again is not None
