from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from holdfast.data.sources.classes import keypoint_names
from holdfast.data.sources.outlines import polygon_area
from holdfast.data.sources.synthetic import make_synthetic
from holdfast.data.sources.synthetic_drawing import coverage
from holdfast.data.sources.synthetic_shapes import KEYPOINTS, SHAPES, SyntheticScene, arrange
from holdfast.errors import HoldfastError

SIZE = 96
SCENE = SyntheticScene(size=SIZE)


@pytest.fixture(scope="module")
def source():
    return make_synthetic(30, SCENE, seed=1)


@pytest.fixture(scope="module")
def samples(source):
    return list(source)


def test_the_seed_decides_every_byte(samples):
    again = make_synthetic(5, SCENE, seed=1)
    for first, second in zip(samples, again, strict=False):
        assert first.image == second.image
        np.testing.assert_array_equal(first.boxes, second.boxes)
        np.testing.assert_array_equal(first.keypoints, second.keypoints)
    assert samples[0].image != next(iter(make_synthetic(1, SCENE, seed=2))).image


def test_every_class_occurs_and_is_counted(source, samples):
    names = [item.name for item in source.label_map.item]
    assert names == list(SHAPES)
    assert {number for sample in samples for number in sample.classes.tolist()} == {0, 1, 2, 3}
    for entry, sample in zip(source.entries, samples, strict=True):
        assert sum(entry.class_counts.values()) == len(sample.boxes)


def test_boxes_are_tight_around_the_masks(samples):
    for sample in samples:
        for box, mask in zip(sample.boxes, sample.masks, strict=True):
            rows, columns = np.nonzero(mask)
            around = [rows.min(), columns.min(), rows.max() + 1, columns.max() + 1]
            # Half a pixel of rounding, and thin tips that fill less than half of a pixel.
            np.testing.assert_allclose(box * SIZE, around, atol=2.0)
            assert box.min() >= 0
            assert box.max() <= 1


def test_keypoints_lie_on_the_border_of_their_shape(source, samples):
    count = len(keypoint_names(source.label_map))
    for sample in samples:
        assert sample.keypoints.shape == (len(sample.boxes), count, 2)
        for box, points, number in zip(sample.boxes, sample.keypoints, sample.classes, strict=True):
            kind = source.label_map.item[number].name
            inside = points[~np.isnan(points[:, 0])]
            assert 0 < len(inside) <= KEYPOINTS[kind]
            assert (inside >= box[:2] - 1e-6).all()
            assert (inside <= box[2:] + 1e-6).all()


def test_a_shape_stands_out_from_its_ground(samples):
    """What was drawn last is uncovered: inside and around it the colors differ."""
    contrasts = []
    for sample in samples:
        pixels = np.asarray(Image.open(io.BytesIO(sample.image))).astype(float)
        mask = sample.masks[-1].astype(bool)
        ring = ~sample.masks.any(axis=0)
        contrasts.append(np.abs(pixels[mask].mean(axis=0) - pixels[ring].mean(axis=0)).max())
    assert np.median(contrasts) > 40


def test_the_ground_is_textured(samples):
    for sample in samples:
        pixels = np.asarray(Image.open(io.BytesIO(sample.image))).astype(float)
        assert pixels[~sample.masks.any(axis=0)].std(axis=0).min() > 5


def test_every_shape_stays_visible_enough():
    for seed in range(20):
        figures = arrange(SCENE, np.random.default_rng(seed))
        hidden = np.zeros((SIZE, SIZE), bool)
        for figure in reversed(figures):
            cover = coverage(figure.outline, SIZE)
            mask = np.zeros((SIZE, SIZE), bool)
            height, width = cover.share.shape
            mask[cover.top : cover.top + height, cover.left : cover.left + width] = (
                cover.share >= 0.5
            )
            visible = (mask & ~hidden).sum() / polygon_area(figure.outline)
            assert visible > SCENE.visible - 0.1
            hidden |= mask


def test_shapes_overlap_and_differ_in_size(samples):
    overlaps = sum((sample.masks.sum(axis=0) > 1).any() for sample in samples)
    areas = np.concatenate([sample.areas for sample in samples])
    assert overlaps > 5
    assert areas.max() / areas.min() > 4


def test_keypoints_start_at_the_top_and_run_clockwise():
    for seed in range(20):
        for figure in arrange(SCENE, np.random.default_rng(seed)):
            points = figure.keypoints
            assert points[0, 1] == points[:, 1].min()
            x, y = points[:, 0], points[:, 1]
            signed = np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))
            assert signed > 0  # clockwise, as y points down


def test_coverage_adds_up_to_the_area():
    circle = np.array([[np.cos(a), np.sin(a)] for a in np.linspace(0, 6.28, 60)]) * 20 + 48
    assert coverage(circle, SIZE).share.sum() == pytest.approx(polygon_area(circle), rel=0.02)


def test_masks_can_be_left_out():
    (sample,) = make_synthetic(1, SCENE, masks=False)
    assert sample.masks is None


def test_images_too_small_to_draw_in_are_refused():
    with pytest.raises(HoldfastError, match="need 32 pixels, not 16"):
        make_synthetic(1, SyntheticScene(size=16))
