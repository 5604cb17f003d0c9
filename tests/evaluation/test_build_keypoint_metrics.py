"""Whose keypoints are measured, and how strictly."""

from __future__ import annotations

import pytest

from holdfast.config.schema.eval import EvalConfig
from holdfast.config.text.decode import decode
from holdfast.errors import HoldfastError
from holdfast.evaluation.build_keypoint_metrics import build_keypoint_metrics

CLASSES = {1: "person", 2: "dog"}
KEYPOINTS = {1: {"nose": 0, "toe": 2}}


def built(text: str = "", keypoints=KEYPOINTS):
    return build_keypoint_metrics(decode(text, EvalConfig).message, CLASSES, keypoints)


def setting(text: str) -> str:
    return f"parameterized_metric {{ coco_keypoint_metrics {{ {text} }} }}"


def sigma(label: str, value: float) -> str:
    return f'keypoint_label_to_sigmas {{ key: "{label}" value: {value} }}'


def test_a_named_class_has_its_keypoints_in_the_order_of_their_places():
    (one,) = built(setting(f'class_label: "person" {sigma("toe", 0.1)} {sigma("nose", 0.2)}'))
    assert (one.class_id, one.class_name) == (1, "person")
    assert one.places == (0, 2)
    assert one.sigmas == (0.2, 0.1)


def test_without_sigmas_all_keypoints_are_measured_alike():
    (one,) = built(setting('class_label: "person"'))
    assert one.sigmas is None


def test_by_default_every_class_with_keypoints_is_measured():
    assert [each.class_name for each in built()] == ["person"]
    nameless = built(keypoints={})
    assert [(each.class_name, each.places) for each in nameless] == [
        ("person", None),
        ("dog", None),
    ]


def test_only_classes_whose_keypoints_are_learned_are_measured_by_default():
    both = {1: {"nose": 0}, 2: {"nose": 0}}
    (one,) = build_keypoint_metrics(EvalConfig(), CLASSES, both, ["dog"])
    assert one.class_name == "dog"


def test_an_unknown_class_a_lacking_sigma_and_keypoints_without_names_are_errors():
    with pytest.raises(HoldfastError, match="'persom'") as error:
        built(setting('class_label: "persom"'))
    assert "'person'" in error.value.fix
    with pytest.raises(HoldfastError, match="none for 'toe'"):
        built(setting(f'class_label: "person" {sigma("nose", 0.1)}'))
    with pytest.raises(HoldfastError, match="names no keypoints"):
        built(setting(f'class_label: "dog" {sigma("nose", 0.1)}'))
