"""Doubtful labels as pictures: the label, and what the detector sees instead."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from holdfast.data.input.decode_images import decoded_image
from holdfast.data.survey.inspection import Records
from holdfast.doctor.appearances import encoded_images
from holdfast.doctor.detection_cache import FOLDER
from holdfast.doctor.label_doubts import Doubt
from holdfast.errors import HoldfastError
from holdfast.pictures import Cell, Objects, Pixels, contact_sheet, save_png

_WIDTH = 640  # of a picture


def draw_doubts(run: Path, doubts: Sequence[Doubt], records: Records) -> Path:
    """Write a picture for each doubt into the run, numbered by rank; older ones are replaced.

    OSError where the run's folder cannot be written.
    """
    folder = run / FOLDER / "label-noise"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    by_place: dict[tuple[str, int], list[tuple[int, Doubt]]] = {}
    for rank, doubt in enumerate(doubts, start=1):
        by_place.setdefault(doubt.image.place, []).append((rank, doubt))
    for place, encoded in encoded_images(records, list(by_place)):
        try:
            with decoded_image(encoded) as pixels:
                image = pixels
        except HoldfastError:
            continue
        for rank, doubt in by_place[place]:
            name = re.sub(r"[^\w.-]+", "_", Path(doubt.image.name).stem)[-60:]
            save_png(str(folder / f"{rank:03d}_{name}.png"), _picture(image, doubt))
    return folder


def _picture(image: Pixels, doubt: Doubt) -> Pixels:
    boxes, labels = [doubt.image.boxes[doubt.label_index]], [f"labeled {doubt.label}"]
    if doubt.seen_box is not None:
        boxes.append(doubt.seen_box)
        labels.append(f"seen {doubt.seen_as} {doubt.score:.2f}")
    objects = Objects(boxes=np.stack(boxes), labels=labels)
    caption = f"{doubt.kind}, doubt {doubt.doubt:.2f}: {doubt.image.name}"
    return contact_sheet([Cell(image, caption, objects)], columns=1, cell_width=_WIDTH)
