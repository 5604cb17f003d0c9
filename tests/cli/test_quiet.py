"""What libraries say about images is kept from the terminal; what Holdfast says is not."""

from __future__ import annotations

import contextlib
import io
import os
import sys

import pytest

from holdfast.cli.quiet import library_noise_caught

NOISE = [
    "Corrupt JPEG data: premature end of data segment",
    "libpng warning: iCCP: known incorrect sRGB profile",
    "E0000 00:00:1794946035.493068    5116 jpeg_mem.cc:331] Premature end of JPEG data.",
    "W0000 00:00:1794946035.493068    5116 op_kernel.cc:1858] OP_REQUIRES failed at decode.cc:10",
]


@pytest.fixture
def native(capfd, monkeypatch):
    """Make standard error what a process has, on file descriptor 2; gives what reaches it."""

    def begin():
        raw = os.fdopen(2, "wb", 0, closefd=False)
        monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(raw, write_through=True))
        return lambda: capfd.readouterr().err

    return begin  # in the test itself: pytest sets its own before each


def say(*lines: str) -> None:
    """Write as a library does, past Python."""
    for line in lines:
        os.write(2, f"{line}\n".encode())


def test_noise_is_swallowed_and_own_words_come_through_at_once(native):
    heard = native()
    with library_noise_caught():
        say(*NOISE)
        print("progress", file=sys.stderr)
        assert heard() == "progress\n"
        say(*NOISE)
    assert heard() == ""
    say("afterwards")
    print("as before", file=sys.stderr)
    assert heard() == "afterwards\nas before\n"


def test_what_is_not_known_as_noise_is_told_once_at_the_end(native):
    heard = native()
    with library_noise_caught():
        say("terminate called after throwing", NOISE[0], "terminate called after throwing")
    assert heard() == "terminate called after throwing\n"


def test_an_error_passes_and_leaves_standard_error_as_it_was(native):
    heard = native()
    stream = sys.stderr
    with contextlib.suppress(ValueError), library_noise_caught():
        say("a hint")
        raise ValueError("mine")
    assert sys.stderr is stream
    assert heard() == "a hint\n"


def test_where_standard_error_is_captured_nothing_is_done(capfd, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with library_noise_caught():
        say("seen")
    assert capfd.readouterr().err == "seen\n"
