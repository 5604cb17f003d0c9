"""AutoAugment: PIL's colors, moves that carry objects along, and policies that run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image, ImageEnhance, ImageOps

from holdfast.data.augment import auto_augment
from holdfast.data.augment import auto_augment_colors as colors
from holdfast.data.augment import auto_augment_moves as moves
from holdfast.data.augment.auto_augment_moves import MovedScene
from holdfast.data.augment.auto_augment_policies import POLICIES
from holdfast.errors import HoldfastError

from .scenes import as_tensors, augmented, box_around, pixels_of_color, scene, without_optional

GENERATOR = np.random.default_rng(0)
SMOOTH = np.clip(
    GENERATOR.normal(0, 12, (50, 70, 3))
    + np.mgrid[0:50, 0:70].sum(axis=0)[..., None]
    + [0, 40, 90],
    0,
    255,
).astype(np.uint8)
PICTURE = Image.fromarray(SMOOTH)


def test_colors_are_those_of_pil() -> None:
    factors = (0.1, 0.46, 1.0, 1.9)
    enhancers: dict[Callable[..., Any], Any] = {
        colors.color: ImageEnhance.Color,
        colors.contrast: ImageEnhance.Contrast,
        colors.brightness: ImageEnhance.Brightness,
        colors.sharpness: ImageEnhance.Sharpness,
    }
    for change, enhancer in enhancers.items():
        for factor in factors:
            difference = np.abs(
                np.asarray(change(tf.constant(SMOOTH), factor)).astype(int)
                - np.asarray(enhancer(PICTURE).enhance(factor)).astype(int)
            )
            # A gray that is rounded another way moves a pixel by up to the factor and one.
            assert difference.max() <= 2, (change.__name__, factor)


@pytest.mark.parametrize(
    ("ours", "theirs", "slack"),
    [
        (colors.equalize, ImageOps.equalize, 0),
        (colors.autocontrast, ImageOps.autocontrast, 1),
        (lambda image: colors.posterize(image, 3), lambda image: ImageOps.posterize(image, 3), 0),
        (lambda image: colors.solarize(image, 99), lambda image: ImageOps.solarize(image, 99), 0),
    ],
)
def test_operations_are_those_of_pil(
    ours: Callable[..., Any], theirs: Callable[..., Any], slack: int
) -> None:
    flat = np.full((9, 9, 3), 77, np.uint8)
    for image in (SMOOTH, flat):
        difference = np.asarray(ours(tf.constant(image))).astype(int) - np.asarray(
            theirs(Image.fromarray(image))
        )
        assert np.abs(difference).max() <= slack


def test_solarize_add_brightens_what_is_dark_and_a_threshold_of_256_is_above_all() -> None:
    added = np.asarray(colors.solarize_add(tf.constant(SMOOTH), 66))
    dark = SMOOTH < 128
    np.testing.assert_array_equal(added[dark], SMOOTH[dark] + 66)
    np.testing.assert_array_equal(added[~dark], SMOOTH[~dark])
    np.testing.assert_array_equal(colors.solarize(tf.constant(SMOOTH), 256), SMOOTH)


def scene_of(keep: int = 4) -> MovedScene:
    sample = as_tensors(scene(num_objects=keep))
    return MovedScene(
        image=sample.image,
        boxes=sample.boxes,
        present=tf.ones([keep], tf.bool),
        masks=sample.masks,
        keypoints=sample.keypoints,
    )


MOTIONS = {
    "rotated": moves.rotation(tf.constant(20.0)),
    "rotated back": moves.rotation(tf.constant(-12.0)),
    "left": moves.shift(13.0, 0.0),
    "down": moves.shift(0.0, -17.0),
    "slanted": moves.shear(tf.constant(0.3), tf.constant(0.0)),
    "slanted up": moves.shear(tf.constant(0.0), tf.constant(-0.24)),
    "mirrored": moves.mirror(),
}


@pytest.mark.parametrize("name", MOTIONS)
def test_a_moved_picture_carries_boxes_masks_and_keypoints(name: str) -> None:
    moved = moves.move_all(scene_of(), MOTIONS[name])
    image = moved.image.numpy()
    found_any = 0
    for number in range(4):
        colored = pixels_of_color(image, number)
        found = box_around(colored)
        np.testing.assert_array_equal(moved.masks[number].numpy().astype(bool), colored)
        if not moved.present[number]:
            assert colored.sum() <= 2
            continue
        box = moved.boxes[number].numpy() * [60, 84, 60, 84]
        assert found is not None
        # The box is around all moved corners, of which the picture may show a part.
        assert (found[:2] >= box[:2] - 1.01).all()
        assert (found[2:] <= box[2:] + 1.01).all()
        if box[0] > 0 and box[1] > 0 and box[2] < 60 and box[3] < 84:
            np.testing.assert_allclose(found, box, rtol=0, atol=1.5)
            found_any += 1
        place = moved.keypoints[number, 0].numpy()
        if not np.isnan(place).any():
            y, x = np.minimum((place * [60, 84]).astype(int), [59, 83])
            assert colored[y, x]
    assert found_any


def test_rotation_by_a_positive_angle_is_counter_clockwise() -> None:
    square = scene_of()._replace(
        image=tf.constant(SMOOTH[:50, :50]), masks=tf.zeros([0, 50, 50], tf.uint8)
    )
    turned = moves.move_all(square, moves.rotation(tf.constant(90.0)))
    np.testing.assert_array_equal(turned.image, np.rot90(SMOOTH[:50, :50]))


def test_an_object_that_leaves_the_picture_is_gone_for_good() -> None:
    gone = moves.move_all(scene_of(), moves.shift(45.0, 0.0))
    assert gone.present.numpy().tolist() == [False, True, False, True]
    back = moves.move_all(gone, moves.shift(-45.0, 0.0))
    assert back.present.numpy().tolist() == [False, True, False, True]
    assert np.isnan(back.keypoints[0]).all()


def test_a_move_within_a_box_leaves_the_rest_alone() -> None:
    start = scene_of()
    corner, size = moves.pixels_of(start.boxes[1], start.image)  # rows 6..20, columns 50..80
    np.testing.assert_array_equal([*corner, *size], [6, 50, 15, 31])
    moved = moves.move_within(start, corner, size, moves.shift(0.0, 5.0))
    expected = start.image.numpy().copy()
    expected[6:16, 50:81] = expected[11:21, 50:81]
    expected[16:21, 50:81] = moves.GRAY
    np.testing.assert_array_equal(moved.image, expected)
    colored = pixels_of_color(moved.image.numpy(), 1)
    np.testing.assert_array_equal(moved.masks[1].numpy().astype(bool), colored)
    np.testing.assert_array_equal(moved.boxes, start.boxes)
    np.testing.assert_allclose(
        moved.keypoints[1, 0] * [60, 84], start.keypoints[1, 0] * [60, 84] - [5, 0], atol=1e-4
    )
    assert np.isnan(moved.keypoints[1, 1]).all()  # its pixel went over the edge
    others = [0, 2, 3]
    np.testing.assert_array_equal(
        tf.gather(moved.keypoints, others), tf.gather(start.keypoints, others)
    )


def test_a_cutout_is_gray_and_stops_at_the_border() -> None:
    image = tf.constant(SMOOTH)
    cut = moves.cutout(image, tf.constant([3, 60]), tf.constant([8, 5])).numpy()
    expected = SMOOTH.copy()
    expected[0:11, 55:65] = moves.GRAY
    np.testing.assert_array_equal(cut, expected)


@pytest.mark.parametrize("name", auto_augment._IN_BOXES)
def test_every_operation_inside_of_boxes_changes_no_pixel_outside(name: str) -> None:
    start = scene_of()
    change = auto_augment._IN_BOXES[name]
    corner, size = tf.constant([6, 50]), tf.constant([15, 31])
    start = start._replace(image=tf.constant(np.resize(SMOOTH, (60, 84, 3))))
    result = change(start, corner, size, number=tf.constant(0), seed=[1, 2], level=0.6)
    changed = (result.image.numpy() != start.image.numpy()).any(axis=-1)
    assert changed[6:21, 50:81].any()
    changed[6:21, 50:81] = False
    assert not changed.any()


def test_boxes_are_chosen_with_a_third_of_the_probability() -> None:
    many = 300
    boxes = np.tile(scene().boxes[:1], (many, 1))
    start = scene_of(1)._replace(
        boxes=tf.constant(boxes),
        present=tf.ones([many], tf.bool),
        image=tf.zeros([60, 84, 3], tf.uint8),
    )

    def count(scene: MovedScene, corner: Any, size: Any, number: Any) -> MovedScene:
        return scene._replace(image=scene.image + tf.cast(1, tf.uint8))

    result = auto_augment._in_some_boxes(start, [5, 6], 0.9, count)
    share = result.image.numpy().max() / many
    assert abs(share - 0.3) < 4 * np.sqrt(0.21 / many)


@pytest.mark.parametrize("policy_name", POLICIES)
def test_every_policy_runs_and_keeps_the_contract(policy_name: str) -> None:
    samples = [scene(), *[scene(num_objects=0)] * 3, *[scene()] * 26]
    seeds = [(number, 7) for number in range(30)]
    results = augmented(samples, seeds, auto_augment.autoaugment_image, policy_name=policy_name)
    changed = 0
    for result in results:
        assert result.image.dtype == np.uint8
        assert result.image.shape == (60, 84, 3)
        assert result.masks.shape == (len(result.boxes), 60, 84)
        assert len(result.boxes) == len(result.classes) == len(result.keypoints)
        assert result.boxes.min(initial=0.0) >= 0.0
        assert result.boxes.max(initial=1.0) <= 1.0
        assert (result.boxes[:, 2:] > result.boxes[:, :2]).all()
        changed += not np.array_equal(result.image, samples[0].image)
    assert changed > 10


def test_float_images_come_back_as_float() -> None:
    sample = without_optional(scene())
    sample = sample._replace(image=sample.image.astype(np.float32) + 0.4)
    result = auto_augment.autoaugment_image(as_tensors(sample), [1, 2], policy_name="test")
    assert result.image.dtype == tf.float32
    assert result.masks is None


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(HoldfastError, match="no policy 'v9'"):
        auto_augment.autoaugment_image(as_tensors(scene()), [1, 2], policy_name="v9")
