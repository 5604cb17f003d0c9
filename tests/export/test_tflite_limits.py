"""What has no TFLite form is refused before any work, with what to do instead."""

from __future__ import annotations

import pytest
from tests.models.detectors.center_net.small_centers import BOXES, HOURGLASS, center_net
from tests.models.detectors.small_configs import small_config, small_stages

import holdfast
from holdfast.config.text.overrides import apply_overrides
from holdfast.export.client_input import ClientInput
from holdfast.export.export_choices import ExportSettings, FormatName
from holdfast.export.formats import chosen_format

SSD = small_config("ssd", 128, 128)
CENTERS = center_net(BOXES, HOURGLASS, size=(64, 64))
SUPPRESSION = "post_processing.batch_non_max_suppression"


def changed(config, **overrides):
    names = {name.replace("__", "."): value for name, value in overrides.items()}
    config, problems = apply_overrides(config, names)
    assert not problems
    return config


def refusal(config, **settings):
    with pytest.raises(holdfast.HoldfastError) as caught:
        chosen_format(config, ExportSettings(format=FormatName.TFLITE, **settings))
    assert caught.value.fix
    return caught.value.message


def test_what_has_a_form_is_not_refused():
    for config in (SSD, CENTERS):
        assert chosen_format(config, ExportSettings(format=FormatName.TFLITE))


@pytest.mark.parametrize("name", ["faster_rcnn", "mask_rcnn"])
def test_two_stages_are_refused(name):
    assert "of two stages has no TFLite form" in refusal(small_stages(name, 64, 64))


def test_inputs_of_many_sizes_are_refused():
    resizer = "model.ssd.image_resizer.keep_aspect_ratio_resizer"
    config = changed(SSD, **{f"{resizer}.min_dimension": 96, f"{resizer}.max_dimension": 128})
    assert "an input of one size" in refusal(config)
    padded = changed(config, **{f"{resizer}.pad_to_max_dimension": True})
    assert chosen_format(padded, ExportSettings(format=FormatName.TFLITE))


def test_gray_images_are_refused():
    place = "model.ssd.image_resizer.fixed_shape_resizer.convert_to_grayscale"
    assert "gray ones" in refusal(changed(SSD, **{place: True}))


def test_other_coders_and_soft_suppression_are_refused():
    coder = "model.ssd.box_coder.mean_stddev_box_coder.stddev"
    assert "faster_rcnn_box_coder alone" in refusal(changed(SSD, **{coder: 0.1}))
    soft = f"model.ssd.{SUPPRESSION}.soft_nms_sigma"
    assert "soft_nms_sigma: 0.5" in refusal(changed(SSD, **{soft: 0.5}))


def test_centers_have_no_suppression():
    place = f"model.center_net.{SUPPRESSION}.iou_threshold"
    assert "has post_processing" in refusal(changed(CENTERS, **{place: 0.5}))


def test_only_images_are_taken():
    assert "takes images" in refusal(SSD, input_type=ClientInput.ENCODED)
