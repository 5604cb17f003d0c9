"""A conversion and its statistics in parts: resident memory while a million small records go by.

The parts run two at a time, in processes of their own; one of each kind is killed in the middle
and done again. Each figure is the resident memory of such a process above that of its listing of
the images, after a tenth of its part and at the end: a ratio of 1 means that nothing grows.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

MEBIBYTE = 2**20
SIDE = 16
AT_ONCE = 2
MARKS = (0.1, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=1_000_000)
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--child", nargs=3, metavar=("WORK", "FOLDER", "PART"))
    options = parser.parse_args()
    if options.child:
        work, folder, part = options.child
        print(json.dumps({"convert": convert, "look": look}[work](folder, part, options.images)))
        return
    with tempfile.TemporaryDirectory() as folder:
        for work in ("convert", "look"):
            measure(work, folder, options.images, options.parts)


def measure(work: str, folder: str, images: int, parts: int) -> None:
    """Do all parts of a work, one of them twice, then what puts them together."""
    child = partial(run, work, folder, images)
    start = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(child, [f"{number}/{parts}" for number in range(2, parts + 1)]))
    found.append(child(f"1/{parts}", kill=True))
    seconds = time.monotonic() - start
    merged = child("")
    print(f"{work}: {images} records in {parts} parts, {AT_ONCE} at a time")
    few, many = (max(each["resident"][at] for each in found) for at in (0, 1))
    base = max(each["base"] for each in found)
    print(
        f"  a part: started and listed {base / MEBIBYTE:.0f} MiB, above it "
        f"{few / MEBIBYTE:.0f} MiB after a tenth, {many / MEBIBYTE:.0f} MiB at the end, "
        f"ratio {many / few:.3f}"
    )
    print(
        f"  {images / seconds:.0f} records a second; the killed part kept {found[-1]['kept']} files"
    )
    print(
        f"  together: {merged['images']} images, {merged['seconds']:.0f} s, "
        f"{merged['peak'] / MEBIBYTE:.0f} MiB"
    )
    assert merged["images"] == images


def run(work: str, folder: str, images: int, part: str, *, kill: bool = False) -> dict:
    """Run a part in a process; kill: once in the middle before."""
    command = [sys.executable, __file__, "--images", str(images), "--child", work, folder, part]
    if kill:
        first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before = files(work, folder)
        while files(work, folder) == before and first.poll() is None:
            time.sleep(0.2)
        first.kill()
        first.wait()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def files(work: str, folder: str) -> int:
    pattern = "*.record-*" if work == "convert" else ".holdfast-observations/*"
    return sum(1 for _ in Path(folder).glob(pattern))


def convert(folder: str, text: str, images: int) -> dict:
    """Convert a part of made images, or put the parts together."""
    from holdfast.data.conversion.to_records import convert as to_records
    from holdfast.data.part_of_work import read_part

    source = made_source(images)
    watch = Watch()
    start = time.monotonic()
    result = to_records(
        source, folder, val=0, part=read_part(text) if text else None, progress=watch
    )
    return watch.result(result.images, start) | {"kept": result.shards_kept}


def look(folder: str, text: str, images: int) -> dict:
    """Look at a part of the records, or make the statistics of all."""
    from holdfast.config.label_map import load_label_map
    from holdfast.data.part_of_work import read_part
    from holdfast.data.survey.inspection import inspect_data, open_data
    from holdfast.data.survey.stored_observations import StoredObservations

    data = open_data(folder, None, load_label_map(f"{folder}/label_map.pbtxt"))
    watch = Watch()
    start = time.monotonic()
    if not text:
        return watch.result(inspect_data(data, progress=watch).statistics.images, start)
    stored = StoredObservations(data.files, data.layout, data.names)
    part = read_part(text)
    seen = stored.store(part, watch)
    return watch.result(seen, start) | {"kept": len(part.of(data.files)) - watch.told}


class Watch:
    """Hears of progress, and notes the memory on the way."""

    def __init__(self) -> None:
        self.base = resident()
        self.noted: list[int] = []
        self.told = 0

    def __call__(self, done: int, total: int) -> None:
        """Take progress."""
        self.told += 1
        if len(self.noted) < len(MARKS) and done >= MARKS[len(self.noted)] * total:
            self.noted.append(max(1, resident() - self.base))

    def result(self, images: int, start: float) -> dict:
        """Give what was noted, in bytes."""
        noted = [*self.noted, max(1, resident() - self.base)]
        peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
        return {
            "images": images,
            "base": self.base,
            "resident": [noted[0], noted[-1]],
            "peak": peak,
            "seconds": time.monotonic() - start,
        }


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def made_source(count: int):
    """Give small images, each with one box, made when they are read."""
    from holdfast.data.sources.classes import build_classes
    from holdfast.data.sources.source import Entry, Source

    def entry(number: int) -> Entry:
        name = f"made-{number:08d}"
        return Entry(
            source_id=name,
            place=name,
            filename=f"{name}.jpg",
            read=partial(made_image, number),
            split="train" if number else "val",
            class_counts=ONE_OBJECT,
            fingerprint="made",
        )

    return Source(
        format="made",
        location=f"{count} images",
        label_map=build_classes({1: "thing"}).label_map,
        entries=tuple(map(entry, range(count))),
    )


ONE_OBJECT = {0: 1}


def made_image(number: int):
    import numpy as np
    from PIL import Image

    from holdfast.data.sources.annotated_objects import Box, LabeledObject, build_sample
    from holdfast.data.sources.image_files import Picture, Size
    from holdfast.data.sources.source import Reading

    pixels = np.random.default_rng(number).integers(0, 256, (SIDE, SIDE, 3), np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG")
    picture = Picture(stream.getvalue(), Size(SIDE, SIDE))
    box = LabeledObject(class_index=0, box=Box(2.0, 2.0, 12.0, 12.0))
    return Reading(build_sample(f"made-{number:08d}", picture, [box]))


if __name__ == "__main__":
    main()
