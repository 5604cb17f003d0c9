"""The tables of published weights agree with the recipes, and name every backbone's classifier."""

from __future__ import annotations

import re

import pytest

from holdfast.checkpoints.zoo.find_weights import (
    all_weights,
    find_weights,
    imagenet_weights,
    recipes_of,
)
from holdfast.checkpoints.zoo.imagenet_files import imagenet_files
from holdfast.config.facts.extractors import OD_API_EXTRACTORS
from holdfast.config.facts.zoo import zoo_weights
from holdfast.config.recipes.fill import recipe_model
from holdfast.config.recipes.recipe_table import RECIPES
from holdfast.errors import HoldfastError

ZOO = [each for each in all_weights().values() if not each.is_classifier]


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.name)
def test_a_recipe_and_its_weights_say_the_same(recipe):
    weights = find_weights(recipe.name)
    assert weights.is_built
    assert weights.coco_map == recipe.coco_map
    assert max(weights.sides) == recipe.input_size
    assert recipe.name in recipes_of(weights)
    model = recipe_model(recipe, num_classes=3)
    assert zoo_weights("PATH_TO_BE_CONFIGURED", model) == weights.name


def test_both_zoos_are_there_and_every_row_is_whole():
    assert sum("/tf2/" in each.address for each in ZOO) == 42
    assert sum("/tf2/" not in each.address for each in ZOO) == 47
    for each in ZOO:
        assert each.address.endswith(f"/{each.name}.tar.gz")
        assert each.extractor in OD_API_EXTRACTORS or each.lacking, each.name
        assert each.coco_map is None or 10 < each.coco_map < 60
        if written := re.search(r"(\d{3,4})x(\d{3,4})", each.name):
            sides = tuple(map(int, written.groups()))
            assert each.sides == sides or each.name.startswith("ssd_mobilenet_v2_320")


@pytest.mark.parametrize("name", ["rfcn", "nas_", "mobiledet", "extremenet", "spaghetti", "ppn"])
def test_what_is_not_built_is_marked(name):
    found = [each for each in ZOO if name in each.name]
    assert found
    assert not any(each.is_built for each in found)


def test_a_network_without_a_classifier_of_its_width_is_told_the_widths_there_are():
    model = recipe_model(RECIPES["ssd_mobilenet_v2_320"], num_classes=3)
    assert "1.0_224_no_top" in imagenet_weights(model).name
    narrow = model.ssd.feature_extractor.replace(depth_multiplier=0.1)
    model = model.replace(ssd=model.ssd.replace(feature_extractor=narrow))
    with pytest.raises(HoldfastError) as caught:
        imagenet_weights(model)
    assert "0.35, 0.5, 0.75, 1, 1.3, 1.4" in caught.value.fix
    with pytest.raises(HoldfastError, match="no ImageNet weights of inception_v2"):
        imagenet_weights(recipe_model(RECIPES["faster_rcnn_inception_v2"], num_classes=3))


def test_every_backbone_that_keras_trained_has_its_file():
    trained = {each.backbone for each in OD_API_EXTRACTORS.values() if each.nearest is None}
    without = {name for name in trained if (name, 1.0) not in imagenet_files()}
    hourglasses = {f"hourglass_{size}" for size in (10, 20, 32, 52, 104)}
    others = {"inception_v2", "mobilenet_v3_large", "mobilenet_v3_small", "resnet18_v1"}
    assert without == {*others, "resnet34_v1", *hourglasses}
