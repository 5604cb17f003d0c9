"""Tiles have the pixels, boxes, masks and keypoints that the image has there."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from holdfast.data.conversion.cut_tiles import TileRule
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.synthetic import make_synthetic
from holdfast.data.sources.synthetic_shapes import SyntheticScene
from holdfast.data.splitting.belonging import find_bonds
from holdfast.data.splitting.tile_names import image_of_tile
from holdfast.errors import HoldfastError
from holdfast.geometry.image_tiles import Tiling, boxes_in_tile, tiles_of

SIDE = 160
RULE = TileRule(tiling=Tiling(size=96, overlap=0.25))


@pytest.fixture(scope="module")
def source():
    return make_synthetic(12, SyntheticScene(size=SIDE), masks=True)


@pytest.fixture(scope="module")
def cut(source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiles")
    return convert(source, str(folder), tile_rule=RULE)


def examples(conversion, split):
    paths = sorted(map(str, Path(conversion.out).glob(f"{split}.record-*")))
    for record in tf.data.TFRecordDataset(paths):
        yield tf.train.Example.FromString(record.numpy()).features.feature


def text(feature, name):
    return feature[name].bytes_list.value[0].decode()


def place(name):
    """Read top and left of a tile from its name."""
    top, left = name.rpartition("_tile_")[2].split("_")[:2]
    return int(top), int(left)


def boxes_of(feature):
    sides = [
        feature[f"image/object/bbox/{name}"].float_list.value
        for name in ("ymin", "xmin", "ymax", "xmax")
    ]
    return np.array(sides, np.float32).T.reshape(-1, 4)


def test_every_image_becomes_all_of_its_tiles_in_one_split(source, cut):
    per_image = len(tiles_of(SIDE, SIDE, RULE.tiling))
    names = {
        split: [image_of_tile(text(one, "image/source_id")) for one in examples(cut, split)]
        for split in ("train", "val")
    }
    counts = Counter(names["train"]) + Counter(names["val"])
    assert counts == {sample.source_id: per_image for sample in source}
    assert not set(names["train"]) & set(names["val"])
    assert cut.images == 12 * per_image


def test_tiles_show_what_the_image_shows_there(source, cut):
    samples = {sample.source_id: sample for sample in source}
    for one in examples(cut, "train"):
        name = text(one, "image/source_id")
        sample = samples[image_of_tile(name)]
        top, left = place(name)
        whole = np.asarray(Image.open(io.BytesIO(sample.image)).convert("RGB")).astype(int)
        part = np.asarray(Image.open(io.BytesIO(one["image/encoded"].bytes_list.value[0])))
        assert part.shape == (96, 96, 3)
        assert np.abs(part - whole[top : top + 96, left : left + 96]).mean() < 3.0
        masks = [
            np.asarray(Image.open(io.BytesIO(mask)))
            for mask in one["image/object/mask"].bytes_list.value
        ]
        known = sample.masks[:, top : top + 96, left : left + 96]
        for mask in masks:
            assert any((mask == other).all() for other in known)
        assert len(masks) == len(boxes_of(one))


def test_boxes_are_labeled_from_half_of_them_on_and_end_with_their_masks(source, cut):
    samples = {sample.source_id: sample for sample in source}
    tiles = {(tile.top, tile.left): tile for tile in tiles_of(SIDE, SIDE, RULE.tiling)}
    written = 0
    for one in (each for split in ("train", "val") for each in examples(cut, split)):
        name = text(one, "image/source_id")
        found = boxes_in_tile(samples[image_of_tile(name)].boxes, SIDE, SIDE, tiles[place(name)])
        expected, boxes = found.boxes[found.shares >= 0.5], boxes_of(one)
        assert len(boxes) == len(expected)
        assert (boxes[:, :2] >= expected[:, :2] - 1e-6).all()
        assert (boxes[:, 2:] <= expected[:, 2:] + 1e-6).all()
        truncated = np.array(one["image/object/truncated"].int64_list.value, bool)
        is_cut = found.shares[found.shares >= 0.5] < 0.999
        before = samples[image_of_tile(name)].truncated[found.rows[found.shares >= 0.5]]
        np.testing.assert_array_equal(truncated, before | is_cut)
        np.testing.assert_allclose(boxes[~is_cut], expected[~is_cut], atol=1e-6)
        written += len(boxes)
    assert written == cut.boxes


def test_keypoints_outside_of_a_tile_are_unlabeled(source, cut):
    samples = {sample.source_id: sample for sample in source}
    labeled = 0
    for one in examples(cut, "train"):
        y, x = (np.array(one[f"image/object/keypoint/{axis}"].float_list.value) for axis in "yx")
        seen = np.array(one["image/object/keypoint/visibility"].int64_list.value) > 0
        assert ((y[seen] >= 0) & (y[seen] <= 1) & (x[seen] >= 0) & (x[seen] <= 1)).all()
        name = text(one, "image/source_id")
        top, left = place(name)
        known = samples[image_of_tile(name)].keypoints.reshape(-1, 2) * SIDE
        for point in zip(y[seen] * 96 + top, x[seen] * 96 + left, strict=True):
            labeled += 1
            assert np.nanmin(np.abs(known - point).sum(axis=1)) < 0.01
    assert labeled


def test_what_is_cut_or_lost_is_counted(source, tmp_path):
    small = TileRule(tiling=Tiling(size=32, overlap=0.0), smallest_share=0.9)
    result = convert(source, str(tmp_path), tile_rule=small)
    tiles = tiles_of(SIDE, SIDE, small.tiling)
    shares = [
        [
            dict(zip(found.rows.tolist(), found.shares.tolist(), strict=True))
            for found in (boxes_in_tile(sample.boxes, SIDE, SIDE, tile) for tile in tiles)
        ]
        for sample in source
    ]
    lost = sum(
        max(each.get(row, 0.0) for each in found) < 0.9
        for sample, found in zip(source, shares, strict=True)
        for row in range(len(sample.boxes))
    )
    assert lost
    groups = {group.reason: group.boxes for group in result.left_out}
    assert groups[small.lost_reason] == lost
    remarks = {group.reason: group.boxes for group in result.remarks}
    assert remarks[small.unlabeled_reason] > 0


def test_a_share_of_the_empty_training_tiles_is_kept_and_all_of_the_others(source, tmp_path):
    tiling = Tiling(size=32, overlap=0.0)
    all_tiles = convert(source, str(tmp_path / "all"), tile_rule=TileRule(tiling=tiling))
    some = convert(
        source, str(tmp_path / "some"), tile_rule=TileRule(tiling=tiling, kept_empty=0.0)
    )
    assert some.boxes == all_tiles.boxes
    assert some.splits["val"].images == all_tiles.splits["val"].images
    with_boxes = sum(len(boxes_of(one)) > 0 for one in examples(all_tiles, "train"))
    assert some.splits["train"].images == with_boxes < all_tiles.splits["train"].images


def test_a_folder_of_other_tiles_is_refused(source, cut):
    with pytest.raises(HoldfastError, match="--tile"):
        convert(source, cut.out, tile_rule=TileRule(tiling=Tiling(size=64)))


def test_tiles_of_one_image_belong_together():
    names = [f"a_tile_0_{left}_9x9_of_99x99.png" for left in (0, 9)] + ["b_tile_0_0_9x9_of_99x99"]
    groups = find_bonds(names, [None] * 3).groups
    assert groups[0] == groups[1] != groups[2]
