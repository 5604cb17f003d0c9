"""Looks at the config and at every file that it names; one record of each file is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from holdfast.cloud.preflight.first_record import first_record_fault
from holdfast.cloud.preflight.flight import Flight, NamedPath, Outcome
from holdfast.cloud.preflight.gcloud import ask_gcloud
from holdfast.config.paths import find_files
from holdfast.config.validate import validate
from holdfast.errors import errors_of
from holdfast.files import broken_url
from holdfast.units import count_text

_ASKED_SECONDS = 15.0
_START_BYTES = 12


def look_at_config(flight: Flight) -> Iterator[Outcome]:
    """Give every error of the config, also those of fields beside one that cannot be read."""
    report = flight.report
    beside = report.readable if report.config is None else None
    more = errors_of(validate(beside, flight.folder)) if beside is not None else ()
    for problem in (*report.errors, *more):
        place = f"{problem.path}: " if problem.path else ""
        yield Outcome(name="config", ok=False, what=f"{place}{problem.message}", fix=problem.fix)
    if not report.errors:
        yield Outcome(name="config", ok=True, what="The config can be read.")


def look_at_variables(flight: Flight) -> Iterator[Outcome]:
    """Find environment variables in paths: unset here, or unknown to the job."""
    for path in flight.paths:
        what = ""
        if unset := re.findall(r"\$\{?(\w+)", path.place):
            what = f"{path.field}: {unset[0]} is not set in the environment."
        elif "$" in path.text and flight.runs_in_cloud:
            what = f"{path.field}: {path.text} has a variable that the job does not know."
        if what:
            yield Outcome(name="variable", ok=False, what=what, fix="Write the path itself.")


def look_at_files(flight: Flight) -> Iterator[Outcome]:
    """List the files of each path, and read the beginning of each file of records."""
    for path in flight.paths:
        if "$" in path.place or "PATH_TO_BE_CONFIGURED" in path.text:
            continue  # said elsewhere
        if path.place.startswith("gs://"):
            yield from _look_in_bucket(flight, path)
        else:
            yield from _look_here(flight, path)


def _look_here(flight: Flight, path: NamedPath) -> Iterator[Outcome]:
    if url := broken_url(path.text):
        is_slip = url.startswith("gs://")
        what = f"{path.field}: {path.text} " + ("lacks a slash." if is_slip else "cannot be read.")
        fix = f"Write {url}." if is_slip else "Copy it to a bucket, and name its gs:// place."
        yield Outcome(name="path", ok=False, what=what, fix=fix)
        return
    if flight.runs_in_cloud:
        yield Outcome(
            name="path",
            ok=False,
            what=f"{path.field}: {path.text} is on this machine, not on the job's.",
            fix="Copy it with `gcloud storage cp`, and name its gs:// place.",
        )
    files = [file for file in find_files(path.text, flight.folder).files if file.is_file()]
    if "input_path" not in path.field or not files:
        return  # what is missing is an error of the config
    faults = [
        f"{file}: {fault}"
        for file in files
        if (fault := first_record_fault(_start(file), file.stat().st_size))
    ]
    for fault in faults:
        fix = "Copy the file again, or make it again with `holdfast convert`."
        yield Outcome(name="records", ok=False, what=f"{path.field}: {fault}.", fix=fix)
    if not faults:
        what = f"{path.field}: {count_text(len(files), 'file')}, each begins with a record."
        yield Outcome(name="records", ok=True, what=what)


def _start(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(_START_BYTES)


def _look_in_bucket(flight: Flight, path: NamedPath) -> Iterator[Outcome]:
    is_checkpoint = path.field.endswith("fine_tune_checkpoint")
    pattern = f"{path.place}*" if is_checkpoint else path.place
    reply = ask_gcloud("storage", "ls", pattern, seconds=flight.seconds_left(_ASKED_SECONDS))
    files = reply.output.decode(errors="replace").split()
    if reply.code is None:
        what = f"{path.field}: {path.place} was not looked up: {reply.problem}."
        yield Outcome(name="path", ok=True, what=what, is_unverified=True)
    elif reply.code or not files:
        what = f"{path.field}: {path.place} cannot be listed: {reply.problem or 'no such file'}."
        fix = "Correct the path, or give your account access to the bucket."
        yield Outcome(name="path", ok=False, what=what, fix=fix)
    elif "input_path" in path.field:
        yield _first_in_bucket(flight, path, files)
    else:
        yield Outcome(name="path", ok=True, what=f"{path.field}: {path.place} is there.")


def _first_in_bucket(flight: Flight, path: NamedPath, files: list[str]) -> Outcome:
    """Read the beginning of the first file: each one takes a second."""
    reply = ask_gcloud(
        *("storage", "cat", f"--range=0-{_START_BYTES - 1}", files[0]),
        seconds=flight.seconds_left(_ASKED_SECONDS),
    )
    fault = reply.problem if reply.code else first_record_fault(reply.output, None)
    if reply.code is None or not fault:
        seen = f"not read: {reply.problem}" if reply.code is None else "begins with a record"
        what = f"{path.field}: {count_text(len(files), 'file')}; {files[0]} {seen}."
        return Outcome(name="records", ok=True, what=what, is_unverified=reply.code is None)
    fix = "Copy the file again, or make it again with `holdfast convert`."
    what = f"{path.field}: {files[0]}: {fault}."
    return Outcome(name="records", ok=False, what=what, fix=fix)
