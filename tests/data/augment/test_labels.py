"""Labels of a config are label-map ids, classes of a sample are one less."""

from __future__ import annotations

import numpy as np

from holdfast.data.augment.labels import (
    convert_class_logits_to_softmax,
    drop_label_probabilistically,
    remap_labels,
)
from holdfast.data.sample import Sample

from .scenes import as_arrays, as_tensors, scene, without_optional


def crowd(count: int) -> Sample:
    """Repeat the four objects."""
    return without_optional(scene()).with_objects(lambda value: np.concatenate([value] * count))


def test_only_objects_of_the_label_are_dropped_with_the_probability() -> None:
    result = as_arrays(
        drop_label_probabilistically(as_tensors(crowd(400)), [1, 2], label=3, drop_probability=0.6)
    )
    counts = np.bincount(result.classes, minlength=4)
    assert counts[[0, 1, 3]].tolist() == [400, 400, 400]
    assert abs(counts[2] / 400 - 0.4) < 4 * np.sqrt(0.24 / 400)
    np.testing.assert_array_equal(result.weights, scene().weights[result.classes])


def test_a_label_is_dropped_for_sure_by_default() -> None:
    result = as_arrays(drop_label_probabilistically(as_tensors(crowd(50)), [1, 2], label=1))
    assert set(result.classes) == {1, 2, 3}


def test_labels_become_the_new_label() -> None:
    result = as_arrays(
        remap_labels(as_tensors(crowd(1)), [1, 2], original_labels=(1, 4, 2), new_label=2)
    )
    assert result.classes.tolist() == [1, 1, 2, 1]


def test_logits_become_probabilities_of_a_temperature() -> None:
    logits = scene().multiclass_scores
    result = convert_class_logits_to_softmax(as_tensors(scene()), [1, 2], temperature=2.0)
    expected = np.exp(logits / 2.0) / np.exp(logits / 2.0).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(result.multiclass_scores, expected, rtol=1e-5)
