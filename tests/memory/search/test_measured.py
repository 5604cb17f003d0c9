from __future__ import annotations

import sys

import pytest

from holdfast.errors import HoldfastError
from holdfast.memory.search.measured import Measured, measure

ECHO = """
import json, os, sys
request = json.load(sys.stdin)
print("something else")
threshold = int(os.environ["MALLOC_MMAP_THRESHOLD_"])
print(json.dumps({"base_bytes": request["base"], "peak_bytes": threshold, "step_seconds": 2}))
"""


def test_it_hands_the_request_over_and_reads_the_last_line() -> None:
    found = measure((sys.executable, "-c", ECHO), {"base": 7})
    assert found == Measured(base_bytes=7, peak_bytes=65536, step_seconds=2)


def test_a_process_that_fails_is_reported_with_its_last_words() -> None:
    with pytest.raises(HoldfastError, match=r"ended with code 1\. ValueError: too large"):
        measure((sys.executable, "-c", "raise ValueError('too large')"), {})


def test_a_process_that_is_killed_is_reported_as_such() -> None:
    program = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    with pytest.raises(HoldfastError, match="killed by signal 9"):
        measure((sys.executable, "-c", program), {})
