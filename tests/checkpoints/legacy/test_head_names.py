"""Names that no reference file has are those of networks built by the OD API with such a config."""

import keras
import pytest

from holdfast.checkpoints.legacy import head_names
from holdfast.models.features import Feature
from holdfast.models.heads.convolutional import ConvolutionalHead
from holdfast.models.heads.weight_shared import WeightSharedHead
from holdfast.models.layers.convolution import LayerSettings

FEATURES = (Feature(16, 12), Feature(32, 8), Feature(64, 8))
KEYWORDS = {"num_class_slots": 3, "settings": LayerSettings(), "name": "head"}
CLASSES = "_prediction_heads/class_predictions_with_background"


def built(head, features=FEATURES):
    head([keras.Input((4, 4, feature.channels)) for feature in features])
    return head


def names(sought):
    """All names looked for, by the path of the variable below the head."""
    return {each.variable.path.removeprefix("head/"): each.names for each in sought}


@pytest.fixture(scope="module")
def convolutional():
    return built(
        ConvolutionalHead(
            FEATURES,
            anchors_per_location=[3, 6, 6],
            num_layers_before_predictor=2,
            max_depth=10,
            use_depthwise=True,
            kernel_size=3,
            dropout_rate=0.2,
            **KEYWORDS,
        )
    )


@pytest.fixture(scope="module")
def weight_shared():
    return built(
        WeightSharedHead(
            FEATURES,
            anchors_per_location=[6, 6, 6],
            depth=4,
            num_layers_before_predictor=2,
            use_depthwise=True,
            dropout_rate=0.2,
            **KEYWORDS,
        )
    )


def test_layers_before_a_predictor_are_named_by_their_depth_in_tf1(convolutional):
    found = names(head_names.convolutional_tf1(convolutional))
    assert found["level_0/shared_1/convolution/kernel"] == (
        "BoxPredictor_0/Conv2d_1_1x1_10/weights",
    )
    assert found["level_1/shared_0/batch_norm/beta"] == (
        "BoxPredictor_1/Conv2d_0_1x1_8/BatchNorm/beta",
    )


def test_layers_before_a_predictor_are_three_each_in_tf2(convolutional):
    found = names(head_names.convolutional_tf2(convolutional))
    assert found["level_0/shared_1/convolution/kernel"] == ("_shared_nets/0/3/kernel",)
    assert found["level_0/shared_1/batch_norm/beta"] == ("_shared_nets/0/4/beta",)


def test_a_depthwise_convolution_precedes_its_predictor(convolutional):
    found = names(head_names.convolutional_tf2(convolutional))
    boxes = "_prediction_heads/box_encodings/0/_box_encoder_layers"
    assert found["level_0/boxes_depthwise/convolution/kernel"][0] == f"{boxes}/0/depthwise_kernel"
    assert found["level_0/boxes_depthwise/batch_norm/gamma"][0] == f"{boxes}/1/gamma"
    assert found["level_0/boxes/convolution/kernel"][0] == f"{boxes}/3/kernel"
    slim = names(head_names.convolutional_tf1(convolutional))
    assert slim["level_2/classes_depthwise/convolution/kernel"] == (
        "BoxPredictor_2/ClassPredictor_depthwise/depthwise_weights",
    )


def test_dropout_moves_the_layers_behind_it_by_one(convolutional, weight_shared):
    own = names(head_names.convolutional_tf2(convolutional))["level_0/classes/convolution/kernel"]
    assert f"{CLASSES}/0/_class_predictor_layers/4/kernel" in own
    shared = names(head_names.weight_shared_tf2(weight_shared))[
        "classes/pointwise/convolution/kernel"
    ]
    assert f"{CLASSES}/_class_predictor_layers/1/pointwise_kernel" in shared


def test_one_level_alone_has_no_scope_in_tf1():
    head = built(
        ConvolutionalHead(FEATURES[:1], anchors_per_location=[3], **KEYWORDS), FEATURES[:1]
    )
    found = names(head_names.convolutional_tf1(head))
    assert found["level_0/boxes/convolution/bias"] == ("BoxEncodingPredictor/biases",)


def test_projections_before_shared_towers_have_names_of_their_own(weight_shared):
    slim = names(head_names.weight_shared_tf1(weight_shared))
    assert slim["projection_0/convolution/kernel"] == (
        "WeightSharedConvolutionalBoxPredictor/ProjectionLayer/conv2d_0/weights",
    )
    found = names(head_names.weight_shared_tf2(weight_shared))
    assert found["projection_2/batch_norm/beta"] == ("_additional_projection_layers/2/1/beta",)


def test_towers_share_convolutions_but_not_normalizations(weight_shared):
    found = names(head_names.weight_shared_tf2(weight_shared))
    assert found["class_tower/layer_1/shared/depthwise/convolution/kernel"] == (
        "_head_scope_conv_layers/ClassPredictionTower/1/depthwise_kernel",
    )
    assert found["class_tower/layer_1/batch_norm_2/gamma"] == (
        "_base_tower_layers_for_heads/class_predictions_with_background/2/4/gamma",
    )
    slim = names(head_names.weight_shared_tf1(weight_shared))
    assert slim["class_tower/layer_1/batch_norm_2/gamma"] == (
        "WeightSharedConvolutionalBoxPredictor/ClassPredictionTower/conv2d_1/BatchNorm/feature_2/gamma",
    )
