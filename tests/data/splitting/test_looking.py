from __future__ import annotations

from typing import NamedTuple

import numpy as np

from holdfast.data.sources.source import Entry
from holdfast.data.splitting.appearance import appearance_of
from holdfast.data.splitting.looking import look_at
from holdfast.errors import HoldfastError

from .pictures import jpeg, photograph


class Sample(NamedTuple):
    image: bytes


class Reading(NamedTuple):
    sample: Sample


def refuse():
    raise HoldfastError("There is no such image.")


def entry(path="", read=refuse):
    return Entry(source_id=path, place=path, filename=path, read=read, image_path=path)


def test_the_images_are_given_in_their_order_and_progress_ends_with_the_last(tmp_path):
    entries, images = [], [jpeg(photograph(seed)) for seed in range(5)] * 20
    for number, image in enumerate(images):
        path = tmp_path / f"{number}.jpg"
        path.write_bytes(image)
        entries.append(entry(str(path)))
    told = []
    seen = look_at(entries, lambda done, total: told.append((done, total)))
    assert all(glance.is_image for glance in seen)
    for glance, image in zip(seen, images, strict=True):
        np.testing.assert_array_equal(glance.appearance, appearance_of(image))
    assert told == [(64, 100), (100, 100)]


def test_an_image_without_a_file_is_read_from_its_annotation():
    image = jpeg(photograph(3))
    (glance,) = look_at([entry(read=lambda: Reading(Sample(image)))], lambda done, total: None)
    np.testing.assert_array_equal(glance.appearance, appearance_of(image))


def test_what_cannot_be_read_is_no_image(tmp_path):
    (tmp_path / "text.jpg").write_text("no image")
    (tmp_path / "empty.jpg").touch()
    paths = ("text.jpg", "empty.jpg", "missing.jpg")
    entries = [entry(), *(entry(str(tmp_path / path)) for path in paths)]
    seen = look_at(entries, lambda done, total: None)
    assert [tuple(glance) for glance in seen] == [(False, None)] * 4


def test_an_image_that_is_cut_off_may_still_be_used(tmp_path):
    whole = jpeg(photograph(0))
    (tmp_path / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (glance,) = look_at([entry(str(tmp_path / "cut.jpg"))], lambda done, total: None)
    assert tuple(glance) == (True, None)
