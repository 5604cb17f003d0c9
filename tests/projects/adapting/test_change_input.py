"""Another resolution reaches the resizer and what else makes images of a size."""

from __future__ import annotations

import pytest

from holdfast.config.recipes.fill import recipe_model
from holdfast.config.recipes.recipe_table import find_recipe
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.preprocessor import PreprocessingStep, RandomScaleCropAndPadToSquare
from holdfast.config.schema.train import TrainConfig
from holdfast.errors import HoldfastError
from holdfast.projects.adapting.change_input import input_changes, parse_resolution
from holdfast.projects.adapting.field_change import changed


def config(name):
    step = PreprocessingStep(
        random_scale_crop_and_pad_to_square=RandomScaleCropAndPadToSquare(output_size=512)
    )
    return TrainEvalPipelineConfig(
        model=recipe_model(find_recipe(name), 3),
        train_config=TrainConfig(data_augmentation_options=(step,)),
    )


def adapted(name, resolution):
    before = config(name)
    return changed(before, input_changes(before, resolution))


def test_a_fixed_shape_has_both_sides():
    resizer = adapted("ssd_mobilenet_v2", (480, 640)).model.ssd.image_resizer.fixed_shape_resizer
    assert (resizer.height, resizer.width) == (480, 640)


def test_a_kept_ratio_keeps_the_ratio_of_its_sides():
    after = adapted("faster_rcnn_inception_v2", (512, 512)).model.faster_rcnn
    resizer = after.image_resizer.keep_aspect_ratio_resizer
    assert (resizer.min_dimension, resizer.max_dimension) == (300, 512)


def test_an_augmentation_of_a_size_has_the_new_one():
    after = adapted("efficientdet_d0", (640, 640))
    (step,) = after.train_config.data_augmentation_options
    assert step.random_scale_crop_and_pad_to_square.output_size == 640


def test_a_size_that_a_pyramid_cannot_take_is_refused_with_the_nearest():
    with pytest.raises(HoldfastError, match="could not be added") as caught:
        adapted("fpnlite_320", (330, 330))
    assert "320 or 352" in caught.value.fix


@pytest.mark.parametrize("text", ["", "a", "0", "12x", "-3x4"])
def test_what_is_no_resolution_is_refused(text):
    with pytest.raises(HoldfastError, match="not a resolution"):
        parse_resolution(text)
