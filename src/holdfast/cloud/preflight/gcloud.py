"""Ask Google's own command about buckets, for a limited time."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import NamedTuple


class Reply(NamedTuple):
    """What `gcloud` said; `code` is None where it is not installed or did not answer in time."""

    code: int | None
    output: bytes
    problem: str


def ask_gcloud(*arguments: str, seconds: float, content: bytes = b"") -> Reply:
    """Run `gcloud` with what it is to read on its standard input."""
    program = shutil.which("gcloud")
    if program is None:
        return Reply(None, b"", "gcloud is not installed here")
    try:
        done = subprocess.run(
            [program, "--quiet", *arguments], input=content, capture_output=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return Reply(None, b"", f"gcloud did not answer within {seconds:.0f} s")
    except OSError as error:
        return Reply(None, b"", f"gcloud cannot be started: {error}")
    return Reply(done.returncode, done.stdout, _problem(done.stderr.decode(errors="replace")))


def _problem(text: str) -> str:
    """Give the line that says what is wrong, without what gcloud puts before it."""
    lines = text.strip().splitlines()
    errors = [line for line in lines if line.startswith("ERROR:")] or lines[-1:]
    return re.sub(r"^ERROR: (\(gcloud[^)]*\) )?", "", errors[0]).rstrip(".") if errors else ""
