"""Anchors are refit in the config's own generator, and really cover more boxes."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.config.facts.anchor_counts import anchor_layers, anchors_per_location
from holdfast.config.facts.networks import network_of
from holdfast.config.recipes.fill import recipe_model
from holdfast.config.recipes.recipe_table import find_recipe
from holdfast.config.schema.anchor_generator import (
    AnchorGenerator,
    AnchorGrid,
    FlexibleGridAnchorGenerator,
)
from holdfast.data.survey.anchor_coverage import measure
from holdfast.data.survey.box_validity import Reason
from holdfast.data.survey.observe import Observation
from holdfast.models.detectors.build_layout import anchor_layout
from holdfast.projects.adapting.refit_anchors import refit_anchors
from holdfast.projects.fit_boxes import with_anchors


def image(boxes, names, size=400):
    return Observation(
        place="",
        source_id="",
        content=b"",
        reason=Reason.KEPT,
        detail="",
        box_reasons=(),
        boxes=np.array(boxes, np.float32) / size,
        class_names=tuple(names),
        clipped=0,
        height=size,
        width=size,
        stored_bytes=0,
        pixel_mean=np.zeros(3),
        pixel_square_mean=np.zeros(3),
    )


@pytest.fixture(scope="module")
def seen():
    """Many large and upright boxes, and few small and wide ones."""
    draw = np.random.default_rng(0)
    images = []
    for _ in range(30):
        boxes, names = [], []
        for name, height, width, count in (("tall", 150, 40, 4), ("wide", 12, 36, 1)):
            for _ in range(count):
                sides = np.array([height, width]) * draw.uniform(0.8, 1.25, 2)
                corner = draw.uniform(0, 400 - sides)
                boxes.append([*corner, *(corner + sides)])
                names.append(name)
        images.append(image(boxes, names))
    return images


def flexible():
    """Give a pyramid's model with a list of grids instead of octaves."""
    model = recipe_model(find_recipe("fpnlite_320"), 2)
    grids = tuple(
        AnchorGrid(
            base_sizes=(4.0 * 2**level, 5.6 * 2**level),
            aspect_ratios=(1.0, 1.0),
            height_stride=2**level,
            width_stride=2**level,
            height_offset=2 ** (level - 1),
            width_offset=2 ** (level - 1),
        )
        for level in range(3, 8)
    )
    generator = FlexibleGridAnchorGenerator(anchor_grid=grids)
    return with_anchors(model, AnchorGenerator(flexible_grid_anchor_generator=generator))


MODELS = {
    "ssd": lambda: recipe_model(find_recipe("ssd_mobilenet_v2"), 2),
    "pyramid": lambda: recipe_model(find_recipe("fpnlite_320"), 2),
    "grid": lambda: recipe_model(find_recipe("faster_rcnn_resnet50_640"), 2),
    "flexible": flexible,
}


@pytest.mark.parametrize("name", MODELS)
def test_more_boxes_have_an_anchor_with_no_more_anchors(name, seen):
    model = MODELS[name]()
    refit = refit_anchors(model, seen)
    published = network_of(model).generator
    kind = published.which("anchor_generator_oneof")
    assert refit.generator.which("anchor_generator_oneof") == kind
    for layer in range(anchor_layers(published)):
        before = anchors_per_location(published, layer)
        assert anchors_per_location(refit.generator, layer) <= before
    assert refit.after.score > refit.before.score + 0.01
    (measured,) = measure(seen, [anchor_layout(with_anchors(model, refit.generator))])
    assert refit.after.all == pytest.approx(measured.all.covered / measured.all.boxes)


def test_anchors_that_cover_all_stay(seen):
    model = MODELS["pyramid"]()
    easy = [image([[10, 10, 60, 60]], ["square"])]
    refit = refit_anchors(model, easy)
    assert refit.after is refit.before
    assert refit.generator == network_of(model).generator


def test_without_boxes_or_anchors_there_is_nothing_to_refit(seen):
    assert refit_anchors(MODELS["ssd"](), []) is None
    assert refit_anchors(recipe_model(find_recipe("centernet_resnet50"), 2), seen) is None
