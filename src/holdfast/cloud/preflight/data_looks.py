"""Looks into the data: records judged as `inspect` does, speed of reading, memory of the host."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.cloud.preflight.first_record import first_record_fault
from holdfast.cloud.preflight.flight import Flight, NamedPath, Outcome
from holdfast.cloud.preflight.gcloud import ask_gcloud
from holdfast.cloud.preflight.record_sample import first_records, mean_record_bytes
from holdfast.config.facts.input_sizes import input_shape
from holdfast.config.paths import find_files
from holdfast.config.schema.train import TrainConfig
from holdfast.units import bytes_text, count_text

_RECORDS = 16  # of each file
_SAMPLE_BYTES = 64 * 2**20  # of each path
_FILES = 32  # of each path
_READ_SECONDS = 3.0
_READ_BYTES = 32 * 2**20  # from a bucket
_INPUT_BUDGET_BYTES = 512 * 2**20  # what the input's buffers keep to
_PROCESS_BYTES = 6 * 2**30  # the system, Python and TensorFlow's GPU libraries: an allowance
_BATCHES = 3  # alive at once
_CHANNEL_BYTES = 3 * 4  # float32 RGB


def look_into_records(flight: Flight) -> Iterator[Outcome]:
    """Judge the first records of each local file by the rules of `holdfast inspect`."""
    for path in _record_paths(flight):
        files = _readable(path, flight)
        if not files:
            continue
        document, problem = _inspected(flight, path, files)
        if document is None:
            what = f"{path.field}: {problem}."
            yield Outcome(name="records-judged", ok=True, what=what, is_unverified=True)
            continue
        yield _judged(path, document)


def look_at_speed(flight: Flight) -> Iterator[Outcome]:
    """Read for some seconds, and compare with what the steps of one machine need."""
    path = next(iter(_record_paths(flight)), None)
    if path is None:
        return
    is_remote = path.place.startswith("gs://")
    rate = _bucket_rate(flight, path) if is_remote else _local_rate(_readable(path, flight))
    if rate is None:
        return
    per_second, record_bytes, source = rate
    images = per_second / max(record_bytes, 1.0)
    what = f"{path.field}: {bytes_text(per_second)}/s {source}, about {images:.0f} images/s"
    if flight.step_seconds is None:
        what += "; --step-seconds would tell whether that is enough."
        yield Outcome(name="speed", ok=True, what=what, is_unverified=True)
        return
    needed = _batch(flight) / flight.workers / flight.step_seconds
    fix = "" if images >= needed else "Copy the data to a local disk, or make records smaller."
    what += f"; the steps of one machine need {needed:.0f}."
    yield Outcome(name="speed", ok=not fix, what=what, fix=fix)


def look_at_host_memory(flight: Flight) -> Iterator[Outcome]:
    """Compare what a training holds outside of the cards with the machine's memory."""
    config = flight.report.config
    if config is None or config.model is None:
        return
    shape = input_shape(config.model, _batch(flight))
    pixels = shape.height * shape.width if shape is not None else 0
    waiting = _BATCHES * _batch(flight) // flight.workers * pixels * _CHANNEL_BYTES
    shuffled = _shuffled_bytes(flight)
    needed = _PROCESS_BYTES + max(_INPUT_BUDGET_BYTES, shuffled) + waiting
    there = flight.machine.host_bytes
    what = (
        f"About {bytes_text(needed)} of the host's {bytes_text(there)}: "
        f"{bytes_text(_PROCESS_BYTES)} allowed for the process, {bytes_text(waiting)} for batches, "
        f"{bytes_text(max(_INPUT_BUDGET_BYTES, shuffled))} for buffers."
    )
    is_shuffle = shuffled > waiting
    fix = (
        "Lower train_input_reader.shuffle_buffer_size, or leave it out."
        if is_shuffle
        else "Choose a machine with more memory, or a smaller batch."
    )
    ok = needed <= there
    yield Outcome(name="host-memory", ok=ok, what=what, fix="" if ok else fix)


def _batch(flight: Flight) -> int:
    config = flight.report.config
    return ((config and config.train_config) or TrainConfig()).batch_size or 1


def _record_paths(flight: Flight) -> list[NamedPath]:
    return [
        path
        for path in flight.paths
        if "input_path" in path.field
        and "$" not in path.place
        and "PATH_TO_BE_CONFIGURED" not in path.text
    ]


def _readable(path: NamedPath, flight: Flight) -> list[Path]:
    """List local files that begin with a record; the others are told elsewhere."""
    if path.place.startswith("gs://"):
        return []
    files = [file for file in find_files(path.text, flight.folder).files if file.is_file()]
    return [file for file in files[:_FILES] if _begins_well(file)]


def _begins_well(file: Path) -> bool:
    with file.open("rb") as stream:
        start = stream.read(12)
    is_plain = start[:2] != b"\x1f\x8b"
    return is_plain and not first_record_fault(start, file.stat().st_size)


def _inspected(
    flight: Flight, path: NamedPath, files: list[Path]
) -> tuple[dict[str, Any] | None, str]:
    """Let `holdfast inspect`, in a process of its own, look at a sample of the files."""
    reader = path.field.partition(".")[0]
    label_map = next(
        (each for each in flight.paths if each.field == f"{reader}.label_map_path"), None
    )
    named = find_files(label_map.text, flight.folder).files if label_map else ()
    with tempfile.TemporaryDirectory() as folder:
        for number, file in enumerate(files):
            sample = first_records(file, _RECORDS, _SAMPLE_BYTES // len(files))
            Path(folder, f"{number:05d}.record").write_bytes(sample)
        command = [sys.executable, "-m", "holdfast", "inspect", folder, "--no-sheet", "--json"]
        command += ["--label-map", str(named[0])] if named else []
        seconds = flight.seconds_left()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return None, f"there was no time to judge records within {seconds:.0f} s"
    if not done.stdout.strip():
        lines = done.stderr.strip().splitlines()
        return None, f"records could not be judged: {lines[0] if lines else 'no answer'}"
    return json.loads(done.stdout), ""


def _judged(path: NamedPath, document: dict[str, Any]) -> Outcome:
    left_out = document.get("left_out", [])
    lost = sum(each["images"] for each in left_out)
    seen = document["images"] + lost
    reasons = "; ".join(
        f"{each['images']} images and {each['boxes']} boxes left out: {each['reason']}"
        for each in left_out[:3]
    )
    what = f"{path.field}: of {count_text(seen, 'record')} looked at, {document['images']} are good"
    # A few bad boxes are left out by a training, too; images that all are bad train nothing.
    ok = document["images"] > 0 and document["boxes"] > 0 and lost * 2 <= seen
    fix = "" if ok else "Look at all of it with `holdfast inspect`."
    return Outcome(
        name="records-judged", ok=ok, what=f"{what}{'. ' + reasons if reasons else ''}.", fix=fix
    )


def _local_rate(files: list[Path]) -> tuple[float, float, str] | None:
    """Read files from their beginning for some seconds."""
    if not files:
        return None
    sample = first_records(files[0], _RECORDS, _SAMPLE_BYTES)
    start, count = time.perf_counter(), 0
    for file in files:
        with file.open("rb") as stream:
            while block := stream.read(2**20):
                count += len(block)
                if time.perf_counter() - start > _READ_SECONDS:
                    break
    seconds = max(time.perf_counter() - start, 1e-6)
    return count / seconds, mean_record_bytes(sample), "from this machine's disk or its cache"


def _bucket_rate(flight: Flight, path: NamedPath) -> tuple[float, float, str] | None:
    """Read the beginning of the first file of a path, through `gcloud`."""
    seconds = flight.seconds_left(15.0)
    listed = ask_gcloud("storage", "ls", path.place, seconds=seconds).output.decode().split()
    if not listed:
        return None
    start = time.perf_counter()
    reply = ask_gcloud(
        *("storage", "cat", f"--range=0-{_READ_BYTES - 1}", listed[0]),
        seconds=flight.seconds_left(20.0),
    )
    seconds = max(time.perf_counter() - start, 1e-6)
    if reply.code != 0 or first_record_fault(reply.output[:12], None):
        return None
    source = "from here, by one connection; from the job's machine it may be more"
    return len(reply.output) / seconds, mean_record_bytes(reply.output), source


def _shuffled_bytes(flight: Flight) -> int:
    """Give what a shuffle buffer of the config's own would hold of the local records."""
    config = flight.report.config
    reader = config.train_input_reader if config else None
    if reader is None or not reader.has("shuffle_buffer_size") or not reader.shuffle:
        return 0
    path = next((p for p in _record_paths(flight) if p.field.startswith("train_input")), None)
    files = _readable(path, flight) if path else []
    if not files:
        return 0
    mean = mean_record_bytes(first_records(files[0], _RECORDS, _SAMPLE_BYTES))
    stored = sum(file.stat().st_size for file in files)
    return int(min(stored, mean * reader.shuffle_buffer_size))
