from __future__ import annotations

import pytest

from holdfast.data.sources.annotated_objects import Box
from holdfast.data.sources.drawings import draw_box, draw_polygon, to_points
from holdfast.data.sources.exports import DrawnImage, Export, build_source
from holdfast.data.sources.image_files import Size
from holdfast.data.sources.lookup import ImageFinder

from .reading import assert_same, problems, read_boxes

CAT = draw_box("cat", Box(1, 2, 9, 8))
DOG = draw_box("dog", Box(3, 3, 7, 7))


def drawn(*names, drawings=(), annotation="all.json", **more):
    place = f"{annotation}, {names[0]}"
    return DrawnImage(
        names=names, annotation=annotation, place=place, drawings=tuple(drawings), **more
    )


@pytest.fixture
def build(tmp_path, make_image):
    """Make a source of images that are there under the given paths."""

    def made(paths, *images, masks=True, **more):
        for path in paths:
            make_image(tmp_path / path, 20, 10)
        finder = ImageFinder(paths, str(tmp_path))
        export = Export(images=images, **more)
        return build_source(export, finder, form="tool", location=str(tmp_path), masks=masks)

    return made


def test_classes_are_numbered_as_listed_and_others_by_the_alphabet(build):
    zebra = CAT._replace(label="zebra")
    image = drawn("1.jpg", drawings=(CAT, zebra, DOG))
    source = build(["1.jpg"], image, listed=("dog", "unused", "dog"))
    assert [(item.id, item.name) for item in source.label_map.item] == [
        *((1, "dog"), (2, "unused"), (3, "cat"), (4, "zebra"))
    ]
    (entry,) = source.entries
    assert entry.class_counts == {0: 1, 2: 1, 3: 1}


def test_the_first_name_that_is_there_counts(build):
    source = build(["a/1.jpg"], drawn("0123abcd-1.jpg", "1.jpg", drawings=[CAT]))
    assert_same(read_boxes(source), {"1.jpg": [("cat", 2, 1, 8, 9)]})


def test_what_is_said_twice_counts_once(build):
    first = drawn("1.jpg", drawings=[CAT], fingerprint="a")
    second = drawn("sub/1.jpg", drawings=[CAT, DOG], fingerprint="b", split="val")
    source = build(["1.jpg"], first, second)
    (entry,) = source.entries
    assert entry.class_counts == {0: 1, 1: 1}
    assert (entry.split, entry.fingerprint) == ("val", "ab")
    assert any("described more than once: 1, such as sub/1.jpg" in note for note in source.notes)


def test_images_of_one_name_in_two_folders_are_two(build):
    images = [drawn("a/1.jpg"), drawn("b/1.jpg"), drawn("a/1.jpg"), drawn("b/1.jpg")]
    source = build(["a/1.jpg", "b/1.jpg"], *images)
    assert [entry.source_id for entry in source.entries] == ["a/1.jpg", "b/1.jpg"]
    assert any("described more than once: 2" in note for note in source.notes)


def test_an_image_that_is_gone_does_not_get_anothers_file(build):
    gone = drawn("1.png", drawings=[DOG])
    source = build(["1.jpg"], gone, drawn("1.jpg", drawings=[CAT]))
    assert_same(read_boxes(source), {"1.jpg": [("cat", 2, 1, 8, 9)]})
    assert problems(source) == {
        "all.json, 1.png": "Its image '1.png' was not found: 1.jpg is another one."
    }
    alone = build(["1.jpg"], gone)  # converted since it was labeled
    assert_same(read_boxes(alone), {"1.jpg": [("dog", 3, 3, 7, 7)]})


def test_coordinates_in_other_units_are_scaled_to_the_image(build):
    source = build(["1.jpg"], drawn("1.jpg", drawings=[CAT], unit=Size(10, 10)))
    assert_same(read_boxes(source), {"1.jpg": [("cat", 4, 1, 16, 9)]})


def test_masks_are_there_if_any_object_has_an_outline(build):
    triangle = draw_polygon("cat", to_points([[1, 1], [9, 1], [9, 9]]))
    images = [drawn("1.jpg", drawings=[CAT]), drawn("2.jpg", drawings=[triangle])]
    paths = ["1.jpg", "2.jpg"]
    assert [sample.masks.sum() > 0 for sample in build(paths, *images)] == [True, True]
    assert not build(paths, *images, masks=False).masks
    assert not build(paths, images[0]).masks


def test_splits_are_the_tools_own_or_those_of_the_images_folders(build):
    images = [drawn("1.jpg"), drawn("2.jpg", split="test"), drawn("3.jpg")]
    source = build(["train/1.jpg", "train/2.jpg", "3.jpg"], *images)
    assert [entry.split for entry in source.entries] == ["train", "test", None]
