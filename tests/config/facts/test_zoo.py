from __future__ import annotations

import pytest

from holdfast.config.facts.zoo import zoo_weights
from holdfast.config.recipes.fill import recipe_model
from holdfast.config.recipes.recipe_table import RECIPES


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (
            "pre-trained/ssd_resnet50_v1_fpn_640x640_coco17_tpu-8/checkpoint/ckpt-0",
            "ssd_resnet50_v1_fpn_640x640_coco17_tpu-8",
        ),
        (
            r"D:\x\ssd_mobilenet_v1_0.75_depth_300x300_coco14_sync_2018_07_03\model.ckpt",
            "ssd_mobilenet_v1_0.75_depth_300x300_coco14_sync_2018_07_03",
        ),
    ],
)
def test_a_folder_of_the_zoo_in_a_path_gives_the_name(written: str, name: str):
    assert zoo_weights(written, None) == name


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.name)
def test_the_network_of_a_recipe_gives_the_weights_of_the_recipe(recipe):
    model = recipe_model(recipe, num_classes=3)
    assert zoo_weights("PATH_TO_BE_CONFIGURED/ckpt-0", model) == recipe.zoo


def test_nothing_is_guessed_from_a_path_and_no_network():
    assert zoo_weights("model.ckpt", None) is None
