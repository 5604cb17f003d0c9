from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.config.facts.extractors import extractor, extractor_names
from holdfast.config.facts.resolution import PUBLISHED_SIDES, changed_resolution
from holdfast.config.load import load_config

from ..texts import config

RESIZER = "fixed_shape_resizer { height: 320 width: 320 }"


def said(*replacements: tuple[str, str]) -> str | None:
    change = changed_resolution(config(*replacements).model)
    return None if change is None else str(change)


def test_the_published_size_is_not_worth_a_word():
    assert said() is None


def test_anchors_of_a_pyramid_become_more_and_stay_as_large():
    assert said((RESIZER, "fixed_shape_resizer { height: 480 width: 480 }")) == (
        "published at 320 x 320: maps from 40 x 40 to 3 x 3, 12804 anchors; "
        "here 2.25 times as many, of the same size in pixels"
    )


def test_the_nearest_of_several_published_sizes_is_compared():
    for side, nearest in ((200, 256), (280, 256), (300, 320), (1000, 640)):
        change = changed_resolution(
            config((RESIZER, f"fixed_shape_resizer {{ height: {side} width: {side} }}")).model
        )
        assert change.published.height == nearest


def test_a_size_that_is_not_square_is_another_one():
    change = changed_resolution(
        config((RESIZER, "fixed_shape_resizer { height: 160 width: 640 }")).model
    )
    assert (change.published.height, change.published.width) == (320, 320)


def test_anchors_of_ssd_grow_with_the_input(corpus: Path):
    model = load_config(
        corpus / "zoo_configs" / "tf2" / "ssd_mobilenet_v2_320x320_coco17_tpu-8.config",
        {"model.ssd.image_resizer.fixed_shape_resizer": "{ height: 512 width: 512 }"},
    ).model
    assert str(changed_resolution(model)) == (
        "published at 320 x 320: maps from 20 x 20 to 1 x 1, 2034 anchors; "
        "here 2.52 times as many, which grow with the input"
    )


@pytest.mark.parametrize(
    "resizer",
    ["keep_aspect_ratio_resizer { min_dimension: 64 max_dimension: 96 }", "identity_resizer { }"],
)
def test_an_input_without_a_fixed_size_is_not_compared(resizer: str):
    assert said((RESIZER, resizer)) is None


def test_an_unknown_network_is_not_compared():
    assert said((RESIZER, RESIZER), ('"ssd_mobilenet_v2_fpn_keras"', '"mine"')) is None


def test_no_published_config_differs_from_what_is_published(corpus: Path):
    for path in corpus.glob("zoo_configs/*/*.config"):
        assert changed_resolution(load_config(path).model) is None, path


def test_every_network_that_is_built_has_published_sizes():
    known = [extractor(name) for name in extractor_names("ssd")]
    built = {(each.backbone, each.neck) for each in known if each.nearest is None}
    assert built == set(PUBLISHED_SIDES)
