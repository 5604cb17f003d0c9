"""Pictures: what is drawn is where it belongs, and visible on any ground."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from holdfast.pictures import (
    Cell,
    Objects,
    contact_sheet,
    draw_objects,
    label_colors,
    save_png,
)

RED = (230, 25, 75)
COLORS = {"a": RED}


def ground(color: tuple[int, int, int], height: int = 100, width: int = 200) -> np.ndarray:
    return np.full((height, width, 3), color, np.uint8)


def drawn(image: np.ndarray, **objects: object) -> np.ndarray:
    boxes = np.float32([[0.2, 0.25, 0.8, 0.75]])
    return draw_objects(image, Objects(boxes=boxes, labels=["a"], **objects), COLORS)


def test_the_line_of_a_box_lies_on_its_sides_and_the_inside_stays():
    picture = drawn(ground((255, 255, 255)))
    assert tuple(picture[50, 50]) == tuple(picture[50, 149]) == RED  # left, right
    assert tuple(picture[79, 100]) == RED  # bottom
    assert (picture[30:70, 60:140] == 255).all()
    assert (picture[:, 160:] == 255).all()


@pytest.mark.parametrize("color", [RED, (0, 0, 0), (255, 255, 255), (128, 128, 128)])
def test_a_box_is_visible_on_any_ground(color):
    image = ground(color)
    contrast = np.abs(drawn(image).astype(int) - image).sum(axis=2)[50, 45:56]
    assert contrast.max() > 150


def test_the_image_itself_is_not_changed():
    image = ground((9, 9, 9))
    drawn(image)
    assert (image == 9).all()


def test_a_mask_tints_its_pixels_only():
    mask = np.zeros((1, 100, 200), np.uint8)
    mask[0, 40:60, 80:120] = 1
    picture = drawn(ground((100, 100, 100)), masks=mask)
    assert (picture[40:60, 80:120] != 100).all()
    assert tuple(picture[35, 100]) == (100, 100, 100)


def test_keypoints_are_dots_and_unlabeled_ones_are_not_drawn():
    points = np.float32([[[0.5, 0.5], [np.nan, np.nan]]])
    picture = drawn(ground((100, 100, 100)), keypoints=points)
    assert tuple(picture[50, 100]) == RED


@pytest.mark.parametrize(
    "box", [(0, 0, 1, 1), (0, 0, 0.001, 0.001), (0.999, 0.999, 1, 1), (-3, -3, 9, 9)]
)
def test_boxes_at_the_rim_tiny_and_far_outside_are_drawn_without_fault(box):
    picture = draw_objects(ground((0, 0, 0)), Objects(np.float32([box]), ["a"]), COLORS)
    assert picture.shape == (100, 200, 3)
    assert picture.any()


def test_no_object_leaves_the_image_as_it_is():
    picture = draw_objects(ground((5, 5, 5)), Objects(np.zeros((0, 4), np.float32), []), {})
    assert (picture == 5).all()


def test_labels_keep_their_colors_and_differ_from_each_other():
    names = [str(number) for number in range(90)]
    colors = label_colors(names)
    assert label_colors([*names, "0"]) == colors
    assert len(set(colors.values())) == 90
    few = np.array(list(colors.values())[:12], int)
    distances = np.abs(few[:, None] - few[None]).sum(axis=-1) + 999 * np.eye(12, dtype=int)
    assert distances.min() > 60


def test_a_sheet_has_a_row_for_every_so_many_cells():
    cells = [Cell(ground((200, 0, 0), 50, 100), f"image {number}") for number in range(5)]
    one = contact_sheet(cells[:1], columns=3, cell_width=120)
    sheet = contact_sheet(cells, columns=3, cell_width=120)
    assert sheet.shape[1] == 10 + 3 * 130
    assert sheet.shape[0] > 1.5 * one.shape[0]
    reds = (sheet == (200, 0, 0)).all(axis=-1)
    assert reds.sum() == 5 * 60 * 120


def test_images_of_any_shape_fit_in_their_cell():
    shapes = [(1, 1000), (1000, 1), (3, 3), (500, 400)]
    sheet = contact_sheet([Cell(ground((9, 9, 9), *shape)) for shape in shapes], columns=2)
    assert sheet.shape[1] == 10 + 2 * 370
    assert sheet.shape[0] < 2200


def test_the_legend_names_every_color_however_many():
    names = [f"a class with a long name {number}" for number in range(40)]
    sheet = contact_sheet([Cell(ground((0, 0, 0)))], columns=1, legend=label_colors(names))
    for color in label_colors(names).values():
        assert (sheet == color).all(axis=-1).sum() > 100


def test_masks_are_scaled_with_their_image():
    mask = np.zeros((1, 50, 50), np.uint8)
    mask[0, 25:] = 1
    objects = Objects(np.float32([[0.5, 0, 1, 1]]), ["a"], masks=mask)
    sheet = contact_sheet([Cell(ground((100, 100, 100), 50, 50), "", objects)], columns=1)
    above, below = sheet[10 + 90, 190], sheet[10 + 270, 190]
    assert tuple(above) == (100, 100, 100)
    assert tuple(below) != (100, 100, 100)


def test_a_sheet_without_cells_is_empty_paper():
    assert contact_sheet([], columns=4).ndim == 3


def test_a_png_holds_the_pixels(tmp_path):
    save_png(str(tmp_path / "a.png"), drawn(ground((1, 2, 3))))
    pixels = np.asarray(Image.open(tmp_path / "a.png"))
    np.testing.assert_array_equal(pixels, drawn(ground((1, 2, 3))))


def test_edges_join_keypoints_that_are_both_there():
    points = np.array([[[0.25, 0.5], [0.75, 0.5], [np.nan, np.nan]]], np.float32)
    objects = Objects(
        boxes=np.array([[0.0, 0.0, 1.0, 1.0]], np.float32),
        labels=["a"],
        keypoints=points,
        edges=((0, 1), (1, 2), (0, 7)),
    )
    drawn = draw_objects(np.zeros((100, 100, 3), np.uint8), objects, {"a": (200, 100, 50)})
    assert (drawn[40:60, 50] == (200, 100, 50)).all()
    assert not drawn[50, 20:40].any()
