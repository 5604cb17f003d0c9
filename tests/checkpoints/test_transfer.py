import importlib.util
import json

import numpy as np
import pytest

from holdfast.checkpoints.legacy.legacy_sorting import VALUE_SUFFIX
from holdfast.checkpoints.transfer import load_checkpoint
from holdfast.errors import HoldfastError

from .bundles import write_bundle
from .networks import network

FOLDER = "ssd_mobilenet_v2_320x320_coco17_tpu-8"


@pytest.fixture(scope="module")
def golden(shared):
    """Every value of a TF2 golden's checkpoint, by its key."""
    path = shared / "tools" / "golden_checkpoint.py"
    spec = importlib.util.spec_from_file_location("golden_checkpoint", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    folder = shared / "goldens" / FOLDER
    gains = json.loads((folder / "rule.json").read_text()).get("gains", [])
    variables = json.loads((folder / "variables.json").read_text())
    return {name: tool.value_of(name, shape, gains) for name, shape, _ in variables}


@pytest.fixture(scope="module")
def prefix(golden, tmp_path_factory):
    """The golden's checkpoint as a training run leaves it: with a step and an optimizer."""
    step = np.int64(7)
    training = {
        **{f"{name}{VALUE_SUFFIX}": step for name in ("save_counter", "step", "optimizer/iter")},
        f"model/kernel/.OPTIMIZER_SLOT/optimizer/momentum{VALUE_SUFFIX}": np.zeros(1),
    }
    return write_bundle(tmp_path_factory.mktemp("golden") / "ckpt-0", golden | training)


@pytest.fixture
def detector():
    """SSD MobileNet V2 with every variable at -1."""
    detector = network("ssd_mobilenet_v2")
    for variable in weights(detector):
        variable.assign(np.full(variable.shape, -1.0))
    return detector


def weights(detector):
    return [*detector.backbone.weights, *detector.neck.weights, *detector.head.weights]


def is_untouched(variables):
    return all(np.all(np.asarray(variable) == -1.0) for variable in variables)


def is_head(name):
    return "_box_predictor/" in name


def test_a_full_load_gives_every_variable_its_value(detector, golden, prefix):
    report = load_checkpoint(detector, prefix)
    assert report.is_whole
    assert str(report) == f"{len(golden)} variables loaded"
    assert set(report.variables) == set(golden)
    assert {id(each) for each in report.variables.values()} == {id(w) for w in weights(detector)}
    for name, variable in report.variables.items():
        np.testing.assert_array_equal(np.asarray(variable), golden[name], name)


def test_what_belongs_to_the_training_is_other(detector, prefix):
    assert len(load_checkpoint(detector, prefix).other) == 4


@pytest.mark.parametrize("kind", ["detection", "fine_tune"])
def test_a_detection_load_leaves_the_head_alone(detector, golden, prefix, kind):
    report = load_checkpoint(detector, prefix, kind=kind)
    assert is_untouched(detector.head.weights)
    assert report.missing == ()
    assert set(report.unused) == {name for name in golden if is_head(name)}
    assert len(report.loaded) == len(detector.backbone.weights) + len(detector.neck.weights)


def test_a_classification_load_fills_the_backbone_alone(detector, prefix):
    report = load_checkpoint(detector, prefix, kind="classification")
    assert is_untouched([*detector.neck.weights, *detector.head.weights])
    assert len(report.loaded) == len(detector.backbone.weights)


def test_a_classifier_saved_for_tf2_fills_the_backbone(detector, golden, tmp_path):
    scope = "model/_feature_extractor/classification_backbone/"
    classifier = {
        name.replace(scope, "feature_extractor/"): value
        for name, value in golden.items()
        if name.startswith(scope)
    }
    top = f"feature_extractor/layer_with_weights-104/kernel{VALUE_SUFFIX}"
    prefix = write_bundle(tmp_path / "ckpt-1", classifier | {top: np.zeros((1280, 1000))})
    report = load_checkpoint(detector, prefix, kind="classification")
    assert report.missing == ()
    assert report.unused == (top,)
    assert set(report.loaded) == set(classifier)


def test_a_classifier_saved_by_slim_fills_the_backbone(detector, shared, tmp_path):
    variables = json.loads((shared / "goldens/ssd_mobilenet_v2_coco/variables.json").read_text())
    scope = "FeatureExtractor/MobilenetV2/"
    classifier = {
        name.removeprefix("FeatureExtractor/"): np.ones(shape, np.float32)
        for name, shape, _ in variables
        if name.startswith(scope) and "/layer_19_" not in name
    }
    report = load_checkpoint(
        detector, write_bundle(tmp_path / "v2.ckpt", classifier), "classification"
    )
    assert report.is_whole
    assert all(np.all(np.asarray(weight) == 1.0) for weight in detector.backbone.weights)


def test_other_classes_keep_what_fits(detector, golden, tmp_path):
    classes = {name for name in golden if "_class_predictor_layers" in name}
    narrowed = {
        name: value[..., :5] if name in classes else value for name, value in golden.items()
    }
    report = load_checkpoint(detector, write_bundle(tmp_path / "ckpt-0", narrowed))
    assert set(report.mismatched) == classes
    assert set(report.loaded) == set(golden) - classes
    assert report.missing == report.unused == ()
    loaded = {id(variable) for variable in report.variables.values()}
    assert is_untouched(weight for weight in weights(detector) if id(weight) not in loaded)


@pytest.mark.parametrize("kind", ["full", "detection", "classification"])
def test_every_name_of_the_checkpoint_is_reported_once(detector, golden, tmp_path, kind):
    values = dict(golden)
    first = next(name for name in golden if is_head(name))
    values[first] = values[first][..., :1]
    values[f"model/_box_predictor/added{VALUE_SUFFIX}"] = np.zeros(3)
    values[f"step{VALUE_SUFFIX}"] = np.int64(1)
    report = load_checkpoint(detector, write_bundle(tmp_path / "ckpt-0", values), kind)
    reported = report.loaded + report.mismatched + report.unused + report.other
    assert sorted(reported) == sorted(values)


def test_a_variable_that_the_checkpoint_lacks_is_named_as_it_should_be_there(
    detector, golden, tmp_path
):
    lost = [name for name in golden if "/convolutions/3/" in name or "/box_encodings/2/" in name]
    kept = {name: value for name, value in golden.items() if name not in lost}
    report = load_checkpoint(detector, write_bundle(tmp_path / "ckpt-0", kept))
    assert sorted(report.missing) == sorted(lost)


def test_a_detector_saved_without_the_usual_root_is_found(detector, golden, tmp_path):
    values = {name.removeprefix("model/"): value for name, value in golden.items()}
    assert load_checkpoint(detector, write_bundle(tmp_path / "ckpt-0", values)).is_whole


def test_real_trained_weights_of_tf1_load_whole(shared):
    detector = network("ssdlite_mobilenet_v2")
    report = load_checkpoint(detector, shared / "weights/ssdlite_mobilenet_v2_coco")
    assert report.is_whole
    assert report.other == ("global_step",)
    first = report.variables["FeatureExtractor/MobilenetV2/Conv/weights"]
    assert np.std(np.asarray(first)) > 0.1


def test_moving_averages_replace_the_values_they_follow(shared, tmp_path, detector):
    variables = json.loads((shared / "goldens/ssd_mobilenet_v2_coco/variables.json").read_text())
    values = {}
    for name, shape, _ in variables:
        values[name] = np.full(shape, 2.0, np.float32)
        if "moving_" not in name:
            values[f"{name}/ExponentialMovingAverage"] = np.full(shape, 3.0, np.float32)
    prefix = write_bundle(tmp_path / "model.ckpt-1", values)
    report = load_checkpoint(detector, prefix, use_moving_average=True)
    for name, variable in report.variables.items():
        assert np.all(np.asarray(variable) == (2.0 if "moving_" in name else 3.0))
    assert set(report.loaded) == {name for name, _, _ in variables}
    load_checkpoint(detector, prefix)
    assert np.all(np.asarray(report.variables["BoxPredictor_0/ClassPredictor/biases"]) == 2.0)


def test_moving_averages_that_are_not_there_are_an_error(detector, prefix):
    with pytest.raises(HoldfastError, match="no moving averages"):
        load_checkpoint(detector, prefix, use_moving_average=True)
    assert is_untouched(weights(detector))


def test_a_damaged_checkpoint_leaves_the_detector_unchanged(detector, golden, tmp_path):
    prefix = write_bundle(tmp_path / "ckpt-0", golden)
    data = tmp_path / "ckpt-0.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:-1000])  # the last of the tensors
    with pytest.raises(HoldfastError, match="cannot be read"):
        load_checkpoint(detector, prefix)
    assert is_untouched(weights(detector))


def test_an_index_without_values_leaves_the_detector_unchanged(detector, corpus):
    with pytest.raises(HoldfastError, match=r"no \.data file"):
        load_checkpoint(detector, corpus / "checkpoint_indexes/checkpoint47")
    assert is_untouched(weights(detector))


@pytest.mark.parametrize("number", ["02", "10", "57"])
def test_a_checkpoint_of_another_architecture_is_an_error(detector, corpus, number):
    with pytest.raises(HoldfastError, match="Nothing in") as error:
        load_checkpoint(detector, corpus / f"checkpoint_indexes/checkpoint{number}")
    assert "is looked for" in error.value.message


def test_a_checkpoint_of_another_width_names_both_shapes(detector, tmp_path):
    scope = "model/_feature_extractor/classification_backbone"
    name = f"{scope}/layer_with_weights-0/kernel{VALUE_SUFFIX}"
    prefix = write_bundle(tmp_path / "ckpt-0", {name: np.zeros((3, 3, 3, 16))})
    with pytest.raises(HoldfastError, match="Nothing in") as error:
        load_checkpoint(detector, prefix)
    assert "(3, 3, 3, 16) there and (3, 3, 3, 32) here" in error.value.message


def test_a_name_based_checkpoint_of_a_network_that_tf1_lacked_is_an_error(shared):
    with pytest.raises(HoldfastError, match="was never in TF1"):
        load_checkpoint(network("efficientdet_d0"), shared / "weights/ssdlite_mobilenet_v2_coco")


def test_an_unknown_kind_names_the_nearest(detector, prefix):
    with pytest.raises(HoldfastError, match="'detections' is not a way") as error:
        load_checkpoint(detector, prefix, "detections")
    assert "detection?" in error.value.fix
