"""The accuracies of networks are those of the model zoos, which the recipes quote too."""

import pytest

from holdfast.config.facts.published_accuracy import published_accuracy
from holdfast.config.recipes.fill import recipe_model
from holdfast.config.recipes.recipe_table import RECIPES

# Published for an input of 320, and run at 300 like its older sibling.
SINGLE_STAGE = [
    name
    for name, recipe in RECIPES.items()
    if recipe.stages == 1 and not name.startswith("centernet") and name != "ssd_mobilenet_v2_320"
]


@pytest.mark.parametrize("name", SINGLE_STAGE)
def test_recipes_quote_the_same_number(name):
    accuracy = published_accuracy(recipe_model(RECIPES[name], num_classes=90))
    assert accuracy is not None
    assert (accuracy.side, accuracy.coco_map) == (RECIPES[name].input_size, RECIPES[name].coco_map)


def test_two_stages_have_none():
    assert published_accuracy(recipe_model(RECIPES["faster_rcnn_resnet50_640"], 3)) is None
