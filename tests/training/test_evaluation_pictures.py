from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from holdfast.config.schema.eval import EvalConfig
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.data.input.evaluation_input import EvaluationBatch, LabeledTruth
from holdfast.models.inference.detections import Detections
from holdfast.pictures import label_colors
from holdfast.training.evaluation_pictures import (
    Gallery,
    build_gallery,
    draw_pictures,
    save_pictures,
    step_name,
)

NAMES = {1: "cat", 2: "dog"}
CAT, DOG = label_colors(NAMES.values()).values()
GAP, WIDTH = 10, 420


def batch(*, is_real=(True, True)) -> EvaluationBatch:
    """Two gray images of 40 x 60 pixels padded to 60 x 60, each with a cat in the middle."""
    flags = tf.zeros([2, 1], tf.bool)
    return EvaluationBatch(
        images=tf.fill([2, 60, 60, 3], 128.0),
        sizes=tf.constant([[40, 60, 3]] * 2),
        original_sizes=tf.constant([[80, 120]] * 2),
        truth=LabeledTruth(
            boxes=tf.constant([[[0.25, 0.25, 0.75, 0.75]]] * 2),
            classes=tf.zeros([2, 1], tf.int32),
            weights=tf.ones([2, 1]),
            confidences=tf.ones([2, 1]),
            is_crowd=flags,
            group_of=flags,
            difficult=flags,
            areas=tf.zeros([2, 1]),
            counts=tf.constant([1, 1]),
        ),
        source_ids=tf.constant(["one", "two"]),
        is_real=tf.constant(is_real),
    )


def draw(*batches: EvaluationBatch, scores=(0.9, 0.3), **gallery):
    """Draw with a detector that finds a dog on the left, and less surely one on the right."""
    boxes = tf.constant([[[0.2, 0.1, 0.8, 0.4], [0.2, 0.6, 0.8, 0.9]]] * 2)
    found = Detections(
        boxes=boxes,
        scores=tf.constant([scores] * 2),
        classes=tf.ones([2, 2], tf.int32),
        count=tf.constant([2, 2]),
    )
    data = SimpleNamespace(batches=lambda: iter(batches))
    step = lambda _: SimpleNamespace(detections=found)  # noqa: E731
    return draw_pictures(step, data, Gallery(names=NAMES, **gallery))


def columns_of(picture, color) -> np.ndarray:
    """Give the columns in which a color is, from the left edge of its half on."""
    return np.flatnonzero((picture == np.array(color)).all(axis=-1).any(axis=0))


def test_the_truth_is_left_and_what_was_found_right_in_the_colors_of_the_classes():
    picture = draw(batch())["detections/0"]
    assert picture.shape[1] == GAP + 2 * (WIDTH + GAP)
    cats, dogs = columns_of(picture, CAT), columns_of(picture, DOG)
    assert cats.min() - GAP == pytest.approx(0.25 * WIDTH, abs=3)
    assert cats.max() - GAP == pytest.approx(0.75 * WIDTH, abs=3)
    assert dogs.min() - WIDTH - 2 * GAP == pytest.approx(0.1 * WIDTH, abs=3)
    assert dogs.max() - WIDTH - 2 * GAP == pytest.approx(0.4 * WIDTH, abs=3)


def test_padding_is_cut_off():
    picture = draw(batch())["detections/0"]
    gray = (picture == 128).all(axis=-1).any(axis=1).sum()
    assert gray == pytest.approx(WIDTH * 40 / 60, abs=1)


def test_an_image_that_the_resizer_squeezed_is_shown_in_its_own_shape():
    squeezed = batch()._replace(
        sizes=tf.constant([[60, 60, 3]] * 2), original_sizes=tf.constant([[100, 400]] * 2)
    )
    picture = draw(squeezed)["detections/0"]
    gray = (picture == 128).all(axis=-1)
    assert gray.any(axis=1).sum() == pytest.approx(WIDTH * 100 / 400, abs=1)
    assert gray[:, : GAP + WIDTH].any(axis=0).sum() == pytest.approx(WIDTH, abs=1)


def test_pictures_are_files_and_those_of_steps_without_a_checkpoint_go(tmp_path):
    pictures = draw(batch(), images=2)
    for step, kept in ((2, [2]), (4, [2, 4]), (6, [2, 6])):
        save_pictures(tmp_path / step_name(step), pictures, kept)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["step-00000002", "step-00000006"]
    files = sorted((tmp_path / "step-00000006").iterdir())
    assert [file.name for file in files] == ["detections-0.png", "detections-1.png"]
    np.testing.assert_array_equal(np.asarray(Image.open(files[1])), pictures["detections/1"])


def test_without_pictures_no_folder_is_made(tmp_path):
    save_pictures(tmp_path / "pictures" / step_name(1), {}, [])
    assert not (tmp_path / "pictures").exists()


def test_what_was_found_is_drawn_from_the_least_score_on_and_up_to_a_number():
    right = WIDTH + 2 * GAP
    for gallery, last in (({"min_score": 0.2}, 0.9), ({"min_score": 0.2, "max_boxes": 1}, 0.4)):
        dogs = columns_of(draw(batch(), **gallery)["detections/0"], DOG)
        assert dogs.max() - right == pytest.approx(last * WIDTH, abs=3)
    assert not columns_of(draw(batch(), min_score=0.95)["detections/0"], DOG).size


def test_as_many_images_are_drawn_as_wanted_and_none_that_only_fills_a_batch():
    assert list(draw(batch(), batch(), images=3)) == [f"detections/{n}" for n in range(3)]
    assert len(draw(batch(is_real=(True, False)), images=3)) == 1
    assert draw(batch(), images=0) == {}


def test_the_config_says_what_to_draw():
    evaluation = EvalConfig(
        num_visualizations=3, min_score_threshold=0.2, max_num_boxes_to_visualize=4
    )
    gallery = build_gallery(TrainEvalPipelineConfig(eval_config=evaluation), NAMES)
    assert gallery == Gallery(names=NAMES, images=3, min_score=0.2, max_boxes=4)
    assert build_gallery(TrainEvalPipelineConfig(), NAMES) == Gallery(names=NAMES)
    without = TrainEvalPipelineConfig(eval_config=EvalConfig(retain_original_images=False))
    assert build_gallery(without, NAMES).images == 0


def test_masks_and_keypoints_are_drawn_on_both_sides():
    square = tf.io.encode_png(np.pad(np.ones((40, 60, 1), np.uint8), [(20, 20), (30, 30), (0, 0)]))
    plain = batch()
    truth = plain.truth._replace(
        encoded_masks=tf.fill([2, 1], square),
        keypoints=tf.constant([[[[0.5, 0.5], [np.nan, np.nan]]]] * 2),
    )
    found = Detections(
        boxes=tf.constant([[[0.25, 0.25, 0.75, 0.75]]] * 2),
        scores=tf.ones([2, 1]),
        classes=tf.ones([2, 1], tf.int32),
        count=tf.constant([1, 1]),
        masks=tf.ones([2, 1, 3, 3]),
        keypoints=tf.constant([[[[0.5, 0.5], [0.5, 0.4]]]] * 2),
        keypoint_scores=tf.constant([[[0.9, 0.1]]] * 2),
    )
    data = SimpleNamespace(batches=lambda: iter([plain._replace(truth=truth)]))
    gallery = Gallery(names=NAMES, images=1, edges=((0, 1),))
    picture = draw_pictures(lambda _: SimpleNamespace(detections=found), data, gallery)[
        "detections/0"
    ]
    middle = GAP + 140  # 280 rows of 420 columns
    left, right = GAP + WIDTH // 2, 2 * GAP + WIDTH + WIDTH // 2
    assert tuple(picture[middle, left]) == CAT  # a keypoint
    assert tuple(picture[middle, right]) == DOG
    mixed = [128 * 0.65 + np.array(color) * 0.35 for color in (CAT, DOG)]
    for column, color in zip((left, right), mixed, strict=True):
        np.testing.assert_allclose(picture[middle + 30, column + 40], color, atol=1)
        # Too unsure a keypoint is not drawn, nor a line to it.
        np.testing.assert_allclose(picture[middle, column - 42], color, atol=1)
        np.testing.assert_allclose(picture[middle, column - 20], color, atol=1)
