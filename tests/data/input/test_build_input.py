from __future__ import annotations

import pytest

from holdfast.config.schema.fields import field_specs
from holdfast.config.schema.image_resizer import ImageResizer
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.config.schema.preprocessor import PreprocessingStep
from holdfast.config.text.decode import decode
from holdfast.data.augment import AUGMENTATIONS, Crop
from holdfast.data.input.build_input import build_augmentations, build_layout, build_resizer
from holdfast.data.sources.record_masks import MaskFormat
from holdfast.errors import HoldfastError


def step(text: str) -> PreprocessingStep:
    decoded = decode(text, PreprocessingStep)
    assert decoded.problems == []
    return decoded.message


@pytest.mark.parametrize("name", field_specs(PreprocessingStep))
def test_every_augmentation_of_the_schema_builds(name):
    (built,) = build_augmentations([step(f"{name} {{ }}")])
    assert built.func is AUGMENTATIONS[name]


def test_only_set_fields_are_passed_and_enums_go_by_name():
    built = build_augmentations(
        [
            step("random_horizontal_flip { probability: 0.25 }"),
            step("random_jitter_boxes { jitter_mode: SHRINK }"),
        ]
    )
    assert built[0].keywords == {"probability": 0.25}
    assert built[1].keywords == {"jitter_mode": "SHRINK"}


def test_crop_operations_become_values():
    text = "ssd_random_crop { operations { min_object_covered: 0.5 random_coef: 0.1 } }"
    (built,) = build_augmentations([step(text)])
    assert built.keywords["operations"] == (Crop(min_object_covered=0.5, random_coef=0.1),)


def test_an_empty_block_is_an_error_not_a_silence():
    with pytest.raises(HoldfastError, match="names no augmentation"):
        build_augmentations([step("")])


def test_a_missing_resizer_is_an_error():
    with pytest.raises(HoldfastError, match="chooses no resizer"):
        build_resizer(ImageResizer())


def test_the_layout_follows_the_reader():
    items = "item { id: 1 name: 'n1' display_name: 'cat' } item { id: 2 name: 'dog' }"
    label_map = decode(items, StringIntLabelMap).message
    reader = decode(
        "load_instance_masks: true mask_type: PNG_MASKS num_keypoints: 3", InputReader
    ).message
    layout = build_layout(reader, label_map)
    assert layout.class_ids == {"n1": 1, "cat": 1, "dog": 2}
    assert (layout.masks, layout.num_keypoints) == (MaskFormat.PNG, 3)
    assert build_layout(InputReader(), None).class_ids is None
