"""Looks at the run's place: that it can be written, has room, and is saved to often enough."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from holdfast.cloud.preflight.flight import Flight, Outcome
from holdfast.cloud.preflight.gcloud import ask_gcloud
from holdfast.config.paths import find_checkpoint
from holdfast.units import bytes_text, seconds_text

_ASKED_SECONDS = 20.0
_KEPT = 5 + 2  # by default 5, the best one besides, and one that is being written
_STATE = 3  # times the weights: the optimizer's state, and their averages
_MOST_LOST_SECONDS = 30 * 60


def look_at_run(flight: Flight) -> Iterator[Outcome]:
    """Write a file at the run's place, and remove it."""
    if flight.run is None:
        return
    place = flight.run
    if place.startswith("/gcs/"):
        place = f"gs://{place[5:]}"
    problem = _problem_in_bucket(flight, place) if flight.runs_in_cloud else _problem_here(place)
    if problem is None:
        what = f"{flight.run} was not written to: gcloud is not here, or did not answer."
        yield Outcome(name="run", ok=True, what=what, is_unverified=True)
    elif problem:
        what = f"{flight.run} cannot be written: {problem}."
        fix = "Name another --run, or give your account the right to write there."
        yield Outcome(name="run", ok=False, what=what, fix=fix)
    else:
        what = f"A file was written at {flight.run}, from this machine, and removed."
        yield Outcome(name="run", ok=True, what=what)


def look_at_disk(flight: Flight) -> Iterator[Outcome]:
    """Compare the room at a local run's place with the checkpoints to come."""
    config = flight.report.config
    if flight.run is None or flight.runs_in_cloud or config is None:
        return
    named = config.train_config.fine_tune_checkpoint if config.train_config else ""
    files = find_checkpoint(named, flight.folder).files if named else ()
    if len(files) != 1:
        return
    parts = files[0].parent.glob(f"{files[0].with_suffix('').name}.data-*")
    needed = _STATE * _KEPT * sum(part.stat().st_size for part in parts)
    free = shutil.disk_usage(_existing(Path(flight.run))).free
    what = f"{bytes_text(free)} are free for {_KEPT} checkpoints of {bytes_text(needed)} in all."
    fix = "" if free >= needed else "Make room, or name another --run."
    yield Outcome(name="disk", ok=free >= needed, what=what, fix=fix)


def look_at_interval(flight: Flight) -> Iterator[Outcome]:
    """Say how much work is lost when a spot machine is taken away."""
    if not flight.is_spot:
        return
    steps = flight.checkpoint_every
    if flight.step_seconds is None:
        what = f"Up to {steps} steps are lost if a notice of 30 s is not enough to save."
        yield Outcome(name="checkpoints", ok=True, what=what, is_unverified=True)
        return
    lost = steps * flight.step_seconds
    what = f"Up to {seconds_text(lost)} of work is lost if a notice of 30 s is not enough to save."
    wanted = max(1, round(_MOST_LOST_SECONDS / 3 / flight.step_seconds))
    fix = "" if lost <= _MOST_LOST_SECONDS else f"Save every {wanted} steps: --checkpoint-every."
    yield Outcome(name="checkpoints", ok=not fix, what=what, fix=fix)


def _problem_here(place: str) -> str:
    path = Path(place)
    if path.exists() and not path.is_dir():
        return "it is a file"
    folder = _existing(path)
    try:
        with tempfile.NamedTemporaryFile(dir=folder) as stream:
            stream.write(b"holdfast")
    except OSError as error:
        return f"{folder}: {error.strerror or error}"
    return ""


def _problem_in_bucket(flight: Flight, place: str) -> str | None:
    """Give "" if a file could be written, None if nobody could be asked."""
    name = f"{place.rstrip('/')}/.holdfast-write-test-{os.getpid()}"
    seconds = flight.seconds_left(_ASKED_SECONDS)
    reply = ask_gcloud("storage", "cp", "-", name, seconds=seconds, content=b"holdfast")
    if reply.code is None:
        return None
    if reply.code:
        return reply.problem or "gcloud refused it"
    ask_gcloud("storage", "rm", name, seconds=flight.seconds_left(_ASKED_SECONDS))
    return ""


def _existing(path: Path) -> Path:
    path = path.absolute()
    return next(each for each in (path, *path.parents) if each.is_dir())
