from __future__ import annotations

import pytest

from holdfast.config.facts.zoo import zoo_archive
from holdfast.config.recipes.fill import recipe_model
from holdfast.config.recipes.recipe_table import RECIPES

ZOO = "http://download.tensorflow.org/models/object_detection"


@pytest.mark.parametrize(
    ("written", "address"),
    [
        (
            "pre-trained/ssd_resnet50_v1_fpn_640x640_coco17_tpu-8/checkpoint/ckpt-0",
            f"{ZOO}/tf2/20200711/ssd_resnet50_v1_fpn_640x640_coco17_tpu-8.tar.gz",
        ),
        (
            r"D:\x\ssd_mobilenet_v1_0.75_depth_300x300_coco14_sync_2018_07_03\model.ckpt",
            f"{ZOO}/ssd_mobilenet_v1_0.75_depth_300x300_coco14_sync_2018_07_03.tar.gz",
        ),
    ],
)
def test_a_folder_of_the_zoo_in_a_path_gives_the_address(written: str, address: str):
    archive = zoo_archive(written, None)
    assert archive is not None
    assert archive.address == address
    assert archive.folder in written


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.name)
def test_the_network_of_a_recipe_gives_the_archive_of_the_recipe(recipe):
    archive = zoo_archive("PATH_TO_BE_CONFIGURED/ckpt-0", recipe_model(recipe, num_classes=3))
    assert archive is not None
    assert archive.address == recipe.archive
    assert recipe.zoo_checkpoint.startswith(f"{archive.folder}/")


def test_nothing_is_guessed_from_a_path_and_no_network():
    assert zoo_archive("model.ckpt", None) is None
