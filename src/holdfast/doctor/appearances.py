"""The perceptual hash of every image of a data set, for finding copies."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.data.records.merged_records import Place
from holdfast.data.records.record_files import read_records
from holdfast.data.records.record_keys import encoded_image
from holdfast.data.splitting.appearance import Appearance, appearance_of
from holdfast.data.survey.inspection import Records
from holdfast.doctor.whole_images import WholeImage
from holdfast.progress import Watch

_AT_ONCE = 64  # records that wait to be looked at
_MOST_THREADS = 4


class Appearances(NamedTuple):
    """What images look like; those that have one color, or are too large, are not in."""

    images: tuple[WholeImage, ...]  # N
    looks: NDArray[np.float32]  # (N, 8, 8)


def appearances_of(
    records: Records, images: Sequence[WholeImage], what: str, watch: Watch
) -> Appearances:
    """Look at every image once, small."""
    by_place = {image.place: image for image in images}
    seen: list[tuple[WholeImage, Appearance]] = []
    threads = min(os.cpu_count() or 1, _MOST_THREADS)
    with watch(what, "images") as progress, ThreadPoolExecutor(threads) as pool:
        done, waiting = 0, encoded_images(records, list(by_place))
        while group := list(islice(waiting, _AT_ONCE)):
            looks = pool.map(appearance_of, (encoded for _, encoded in group))
            for (place, _), look in zip(group, looks, strict=True):
                if look is not None:
                    seen.append((by_place[place], look))
            done += len(group)
            progress(done, len(by_place))
    looks_array = np.array([look for _, look in seen], np.float32).reshape(-1, 8, 8)
    return Appearances(tuple(image for image, _ in seen), looks_array)


def encoded_images(records: Records, places: Sequence[Place]) -> Iterator[tuple[Place, bytes]]:
    """Read the encoded images of some records, each file once, in the order of the files."""
    wanted = set(places)
    for file in records.files:
        if not any(name == file for name, _ in wanted):
            continue
        for number, record in enumerate(read_records(file)):
            if (file, number) in wanted:
                yield (file, number), encoded_image(record)
