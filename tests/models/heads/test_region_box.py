from __future__ import annotations

import numpy as np
import pytest

from holdfast.models.heads.region_box import RegionBoxHead
from holdfast.models.layers.batch_norm import BatchNormSettings
from holdfast.models.layers.convolution import LayerSettings

PLAIN = LayerSettings(batch_norm=None)


def head(settings: LayerSettings = PLAIN, **keywords: object) -> RegionBoxHead:
    return RegionBoxHead(3, settings=settings, name="box_head", **keywords)


@pytest.fixture
def regions() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(6, 2, 2, 4)).astype("float32")


def test_predictions_are_linear_in_the_average_of_a_region(regions):
    built = head()
    output = built(regions)
    averages = regions.mean(axis=(1, 2))
    boxes, classes = built.boxes.dense, built.classes.dense
    np.testing.assert_allclose(
        output.box_encodings,
        (averages @ boxes.kernel.numpy() + boxes.bias.numpy()).reshape(6, 3, 4),
        atol=1e-6,
    )
    np.testing.assert_allclose(
        output.class_logits, averages @ classes.kernel.numpy() + classes.bias.numpy(), atol=1e-6
    )
    assert output.class_logits.shape == (6, 4)  # with background


def test_classes_can_share_a_box(regions):
    assert head(share_box_across_classes=True)(regions).box_encodings.shape == (6, 1, 4)


def test_predictions_can_be_normalized(regions):
    built = head(LayerSettings(batch_norm=BatchNormSettings()), use_bias=False)
    logits = np.asarray(built(regions, training=True).class_logits)
    np.testing.assert_allclose(logits.mean(axis=0), 0.0, atol=1e-5)
    assert built.boxes.dense.bias is None


def test_boxes_and_classes_drop_features_of_their_own_in_training_only(regions):
    built = head(dropout_rate=0.5)
    still = built(regions)
    np.testing.assert_array_equal(still.class_logits, built(regions).class_logits)
    built.boxes.dense.kernel.assign(np.ones((4, 12)))
    built.classes.dense.kernel.assign(np.ones((4, 4)))
    dropped = built(np.ones((512, 1, 1, 4), "float32"), training=True)
    boxes, classes = dropped.box_encodings[:, 0, 0], dropped.class_logits[:, 0]
    assert set(np.unique(boxes)) == {0.0, 2.0, 4.0, 6.0, 8.0}
    assert np.any(boxes != classes)


def test_penalties_reach_both_kernels(regions):
    built = head(LayerSettings(batch_norm=None, l2=0.5))
    built(regions)
    assert len(built.losses) == 2
