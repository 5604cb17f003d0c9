import h5py
import keras
import numpy as np
import pytest

from holdfast.checkpoints.keras_weights import load_keras_weights
from holdfast.checkpoints.transfer import load_checkpoint
from holdfast.errors import HoldfastError
from holdfast.models.backbones.mobilenet_v2 import mobilenet_v2
from holdfast.models.backbones.normalization import MINUS_MEAN
from holdfast.models.backbones.resnet_v1 import resnet_v1
from holdfast.models.backbones.resnet_v1_regions import resnet_v1_of_images, resnet_v1_of_regions
from holdfast.models.layers.batch_norm import BatchNormSettings
from holdfast.models.layers.convolution import LayerSettings

from .keras_files import write_old_format
from .networks import network

IMAGENET_RESNET = "weights/imagenet_resnet50/resnet50_no_top_float16.weights.h5"
IMAGENET = "weights/imagenet_mobilenet_v2/mobilenet_v2_1.0_224_no_top.weights.h5"
SETTINGS = LayerSettings(batch_norm=BatchNormSettings(epsilon=1e-3))
# Keras saves variables in a way that NumPy 2 will refuse one day.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


@pytest.fixture(scope="module")
def image():
    return np.random.default_rng(0).uniform(-1, 1, (1, 96, 96, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def backbone():
    backbone = mobilenet_v2(["layer_7", "layer_19"], settings=SETTINGS)
    backbone(keras.Input((96, 96, 3)))
    return backbone


@pytest.fixture(scope="module")
def application():
    """The same network as Keras has it, with values that tell every layer from every other."""
    application = keras.applications.MobileNetV2(
        input_shape=(96, 96, 3), include_top=False, weights=None
    )
    draw = np.random.default_rng(1)
    for weight in application.weights:
        noise = draw.standard_normal(weight.shape)
        fan_in = np.prod(weight.shape[:-1]) if len(weight.shape) > 1 else 1
        is_scale = "gamma" in weight.name or "variance" in weight.name
        value = 1 + 0.1 * np.abs(noise) if is_scale else noise * np.sqrt(1 / fan_in)
        weight.assign(value)
    return application


def features_of(application, image):
    names = ("block_5_add", "out_relu")  # the ends of layer_7 and layer_19
    outputs = [application.get_layer(name).output for name in names]
    return keras.Model(application.input, outputs)(image)


def assert_same_features(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * np.std(other))


def test_imagenet_weights_give_the_features_of_the_keras_application(shared, backbone, image):
    application = keras.applications.MobileNetV2(
        input_shape=(96, 96, 3), include_top=False, weights=str(shared / IMAGENET)
    )
    report = load_keras_weights(backbone, shared / IMAGENET)
    assert report.is_whole
    assert len(report.loaded) == 260
    assert_same_features(backbone(image), features_of(application, image))


def test_weights_saved_by_this_keras_give_the_same_features(tmp_path, backbone, application, image):
    application.save_weights(tmp_path / "v2.weights.h5")
    report = load_keras_weights(backbone, tmp_path / "v2.weights.h5")
    assert report.is_whole
    assert_same_features(backbone(image), features_of(application, image))


def test_weights_in_the_old_format_give_the_same_features(tmp_path, backbone, application, image):
    path = write_old_format(tmp_path / "v2.h5", application)
    report = load_keras_weights(backbone, path)
    assert report.is_whole
    assert "bn_Conv1/gamma:0" in report.loaded
    assert_same_features(backbone(image), features_of(application, image))


def test_a_resnet_of_keras_gives_the_same_features_of_rgb_images(shared):
    """Keras trained it on BGR; with 62 pixels its pooling, too, is the same."""
    settings = LayerSettings(activation="relu", batch_norm=BatchNormSettings(epsilon=1.001e-5))
    backbone = resnet_v1(["block2", "block4"], depth=50, settings=settings)
    backbone(keras.Input((62, 62, 3)))
    application = keras.applications.ResNet50(
        input_shape=(62, 62, 3), include_top=False, weights=str(shared / IMAGENET_RESNET)
    )
    report = load_keras_weights(backbone, shared / IMAGENET_RESNET)
    assert not report.missing
    assert "reversed" in str(report)
    pixels = np.random.default_rng(0).uniform(0, 255, (1, 62, 62, 3)).astype(np.float32)
    outputs = [
        application.get_layer(f"conv{block}_out").output for block in ("3_block4", "5_block3")
    ]
    expected = keras.Model(application.input, outputs)(
        keras.applications.resnet.preprocess_input(pixels.copy())
    )
    found = backbone(pixels + np.array(MINUS_MEAN.offset, np.float32))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5 * np.max(other))


def test_a_network_cut_in_two_is_filled_in_both_halves(shared):
    settings = LayerSettings(batch_norm=BatchNormSettings(epsilon=1.001e-5))
    images = resnet_v1_of_images(50, settings=settings, generation="tf2")
    regions = resnet_v1_of_regions(settings=settings, generation="tf2")
    (features,) = images(keras.KerasTensor((1, 64, 64, 3)))
    regions(features)
    whole = resnet_v1(["block4"], depth=50, settings=settings)
    whole(keras.KerasTensor((1, 64, 64, 3)))
    report = load_keras_weights(images, shared / IMAGENET_RESNET, regions)
    assert report.missing == ()
    load_keras_weights(whole, shared / IMAGENET_RESNET)
    halves = [*images.weights, *regions.weights]
    assert len(halves) == len(whole.weights)
    for half, one in zip(halves, whole.weights, strict=True):
        np.testing.assert_array_equal(half, one)


def test_the_top_of_a_classifier_is_unused(tmp_path, backbone):
    classifier = keras.applications.MobileNetV2(input_shape=(96, 96, 3), weights=None, classes=3)
    classifier.save_weights(tmp_path / "v2.weights.h5")
    report = load_keras_weights(backbone, tmp_path / "v2.weights.h5")
    assert report.unused == ("dense/0", "dense/1")
    assert report.missing == ()


def test_weights_of_another_width_change_nothing(tmp_path, backbone):
    narrow = keras.applications.MobileNetV2(
        input_shape=(96, 96, 3), alpha=0.5, include_top=False, weights=None
    )
    narrow.save_weights(tmp_path / "v2.weights.h5")
    before = [np.array(weight) for weight in backbone.weights]
    with pytest.raises(HoldfastError, match="of another network") as error:
        load_keras_weights(backbone, tmp_path / "v2.weights.h5")
    assert "(3, 3, 3, 16)" in error.value.message
    for weight, value in zip(backbone.weights, before, strict=True):
        np.testing.assert_array_equal(np.asarray(weight), value)


def test_batch_norms_with_other_arrays_are_not_mixed_up(shared):
    settings = LayerSettings(batch_norm=BatchNormSettings(scale=False))
    backbone = mobilenet_v2(["layer_2"], settings=settings)
    backbone(keras.Input((32, 32, 3)))
    with pytest.raises(HoldfastError, match="4 arrays there and 3 here"):
        load_keras_weights(backbone, shared / IMAGENET)


def test_keras_weights_load_as_a_classification_checkpoint(shared):
    detector = network("ssd_mobilenet_v2")
    report = load_checkpoint(detector, shared / IMAGENET, kind="classification")
    assert report.is_whole


def test_keras_weights_cannot_fill_a_whole_detector(shared):
    with pytest.raises(HoldfastError, match="backbone alone") as error:
        load_checkpoint(network("ssd_mobilenet_v2"), shared / IMAGENET)
    assert 'kind="classification"' in error.value.fix


def test_a_file_that_is_not_there_is_an_error(backbone, tmp_path):
    with pytest.raises(HoldfastError, match="There is no file"):
        load_keras_weights(backbone, tmp_path / "v2.weights.h5")


def test_a_damaged_file_is_an_error(backbone, tmp_path):
    (tmp_path / "v2.weights.h5").write_bytes(b"not a file of weights")
    with pytest.raises(HoldfastError, match="cannot be read as a file of Keras weights"):
        load_keras_weights(backbone, tmp_path / "v2.weights.h5")


def test_a_file_without_weights_is_an_error(backbone, tmp_path):
    with h5py.File(tmp_path / "empty.weights.h5", "w"):
        pass
    with pytest.raises(HoldfastError, match="holds no weights"):
        load_keras_weights(backbone, tmp_path / "empty.weights.h5")


def test_remote_weights_are_refused_with_what_to_do(backbone):
    with pytest.raises(HoldfastError, match=r"gs://b/x.weights.h5 is remote") as error:
        load_keras_weights(backbone, "gs://b/x.weights.h5")
    assert "Copy the file here" in error.value.fix
