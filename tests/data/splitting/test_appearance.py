from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from holdfast.data.splitting.appearance import (
    NEIGHBORS,
    SAME,
    Alike,
    alike,
    appearance_of,
    pairs_alike,
)

from .pictures import COPIES, frame, jpeg, photograph

ORIGINALS = [photograph(seed) for seed in range(8)]


def found(appearances):
    return set(pairs_alike(np.stack(appearances), np.arange(len(appearances))))


@pytest.mark.parametrize("change", COPIES)
def test_a_copy_is_found_whatever_was_done_to_it(change):
    originals = [appearance_of(jpeg(image)) for image in ORIGINALS]
    copies = [appearance_of(COPIES[change](image)) for image in ORIGINALS]
    count = len(ORIGINALS)
    assert found([*originals, *copies]) == {(index, index + count) for index in range(count)}


def test_unrelated_images_are_never_alike():
    assert not found([appearance_of(jpeg(photograph(seed))) for seed in range(300)])


def test_unrelated_photographs_of_the_shared_sets_are_not_alike(shared):
    # Of 86,119 pairs these 10 show one scene each, by eye: nothing else is joined.
    folders = (
        shared / "datasets/bccd/JPEGImages",
        shared / "datasets/raccoon/images",
        shared / "datasets/fruits_nuts_coco_seg/data/images",
    )
    pairs = set()
    for folder in folders:
        paths = sorted(folder.glob("*.jpg"))
        looks = [appearance_of(path.read_bytes()) for path in paths]
        pairs |= {(paths[first].stem, paths[second].stem) for first, second in found(looks)}
    assert pairs == {
        ("BloodImage_00037", "BloodImage_00038"),
        ("raccoon-11", "raccoon-116"),
        ("raccoon-120", "raccoon-83"),
        ("raccoon-186", "raccoon-199"),
        ("raccoon-21", "raccoon-45"),
        ("raccoon-50", "raccoon-52"),
        ("raccoon-50", "raccoon-74"),
        ("raccoon-51", "raccoon-85"),
        ("raccoon-52", "raccoon-74"),
        ("raccoon-65", "raccoon-98"),
    }


def test_the_search_agrees_with_comparing_all_pairs_one_by_one():
    random = np.random.default_rng(0)
    base = random.normal(size=(40, 8, 8))
    looks = np.concatenate([base, base + random.normal(0, 0.25, base.shape)]).astype(np.float32)
    looks[:, 0, 0] = 0
    looks /= np.linalg.norm(looks, axis=(1, 2), keepdims=True)
    bound = Alike(14, 0.9)
    signs = [(-1.0) ** (np.arange(8) * power) for power in (0, 1)]
    expected = {
        (first, second)
        for second in range(len(looks))
        for first in range(second)
        for turned in (looks[second], looks[second].T)
        for rows in signs
        for columns in signs
        if alike(looks[first], turned * np.outer(rows, columns).astype(np.float32), bound)
    }
    assert expected
    assert set(pairs_alike(looks, np.arange(len(looks)), bound)) == expected


def test_of_many_images_alike_only_the_connecting_pairs_are_given():
    looks = np.stack([appearance_of(jpeg(ORIGINALS[0]))] * 500)
    labels = np.arange(len(looks))
    yielded = 0
    for first, second in pairs_alike(looks, labels):
        labels[labels == labels[second]] = labels[first]
        yielded += 1
    assert set(labels) == {labels[0]}
    assert yielded < 10 * len(looks)


def test_neighboring_frames_are_alike_and_distant_ones_are_not():
    looks = [appearance_of(jpeg(frame(1, number))) for number in (0, 1, 2, 50)]
    assert alike(looks[0], looks[1], NEIGHBORS)
    assert alike(looks[1], looks[2], NEIGHBORS)
    assert not alike(looks[0], looks[3], NEIGHBORS)
    assert NEIGHBORS.most_bits > SAME.most_bits
    assert NEIGHBORS.least_cosine < SAME.least_cosine


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "I;16", "I", "F"])
def test_every_kind_of_pixels_has_an_appearance(mode):
    ramp = np.add.outer(np.arange(64), 2 * np.arange(96)) % 128
    stream = io.BytesIO()
    if mode in ("I;16", "I", "F"):
        kind = {"I;16": np.uint16, "I": np.int32, "F": np.float32}[mode]
        image = Image.fromarray((ramp * 300).astype(kind))
    else:
        image = Image.fromarray(ramp.astype(np.uint8)).convert(mode)
    image.save(stream, "TIFF")
    assert appearance_of(stream.getvalue()) is not None


def test_what_cannot_be_seen_has_no_appearance():
    whole = jpeg(ORIGINALS[0])
    assert appearance_of(b"") is None
    assert appearance_of(b"no image") is None
    assert appearance_of(jpeg(Image.new("RGB", (50, 40), (200, 10, 30)))) is None
    assert appearance_of(whole[: len(whole) // 2]) is None
