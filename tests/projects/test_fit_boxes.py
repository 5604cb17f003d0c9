"""Input and anchors for a data set: kept where they fit, chosen anew where others cover more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from holdfast.config.facts.networks import network_of
from holdfast.config.recipes.anchor_choices import anchor_choices
from holdfast.config.recipes.fill import recipe_model
from holdfast.config.recipes.recipe_table import RECIPES, find_recipe
from holdfast.data.survey.inspection import records_of
from holdfast.data.survey.statistics_cache import record_statistics
from holdfast.models.detectors.build_anchor_parts import build_anchor_generator
from holdfast.models.detectors.build_layout import usable_records
from holdfast.projects.fit_boxes import choose_anchors, fit_network

from ..data.example_records import png, record, write

SIZE = 240


def data(folder, sides, per_class=40):
    """Records with boxes (height, width) of each class, in pixels, scattered by chance."""
    draw, image = np.random.default_rng(0), png(SIZE, SIZE)
    examples = []
    for number in range(per_class):
        boxes, labels = [], []
        for label, (height, width) in enumerate(sides, start=1):
            top, left = draw.uniform(0, SIZE - height), draw.uniform(0, SIZE - width)
            boxes.append([top, left, top + height, left + width])
            labels.append(label)
        corners = np.array(boxes) / SIZE
        examples.append(record(corners, labels=labels, image=image, source_id=str(number)))
    path = write(folder / "train.record", examples)
    records = records_of([str(path)], None)
    return records, record_statistics(records.files, records.layout, records.names)


def seen(records, statistics):
    return list(usable_records(records, statistics))


NAMES = ["ssd_mobilenet_v2", "fpnlite_320", "faster_rcnn_resnet50_640"]


@pytest.mark.parametrize("name", NAMES)
def test_objects_that_the_published_anchors_cover_keep_them(name, tmp_path):
    model = recipe_model(replace(find_recipe(name), input_size=300), 2)
    chosen = choose_anchors(model, seen(*data(tmp_path, [(100, 100), (120, 80)])))
    assert chosen.is_published
    assert chosen.generator == network_of(model).generator


@pytest.mark.parametrize("name", NAMES)
def test_small_objects_get_smaller_anchors(name, tmp_path):
    model = recipe_model(find_recipe(name), 2)
    chosen = choose_anchors(model, seen(*data(tmp_path, [(14, 14), (100, 100)])))
    assert not chosen.is_published
    assert chosen.coverage > chosen.published_coverage + 0.1


def test_small_objects_get_a_larger_input_as_far_as_the_images_go(tmp_path):
    records, statistics = data(tmp_path, [(14, 14), (100, 100)])
    recipe = replace(find_recipe("ssd_mobilenet_v2"), input_size=96)
    fit = fit_network(recipe, 2, records, statistics)
    assert 96 < fit.recipe.input_size <= SIZE
    assert "Published with 96" in fit.input_reason
    assert fit.anchors is not None
    large = fit_network(find_recipe("ssd_mobilenet_v2"), 2, records, statistics)
    assert large.recipe.input_size == 300  # larger than the images already


def test_the_users_input_size_is_taken(tmp_path):
    fit = fit_network(find_recipe("fpnlite_320"), 2, *data(tmp_path, [(60, 60)]), input_size=256)
    assert fit.recipe.input_size == 256
    assert "asked" in fit.input_reason


@pytest.mark.parametrize(
    "recipe",
    [each for each in RECIPES.values() if recipe_model(each, 1).center_net is None],
    ids=lambda each: each.name,
)
def test_choices_have_as_many_anchors_a_place_so_that_a_checkpoint_fits(recipe):
    published, *others = anchor_choices(network_of(recipe_model(recipe, 2)).generator)
    expected = build_anchor_generator(published).anchors_per_location
    assert len(others) >= 12
    for each in others:
        found = build_anchor_generator(each).anchors_per_location
        assert tuple(found)[1:] == tuple(expected)[1:]
        assert found[0] in expected[:2]
