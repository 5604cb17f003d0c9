import keras
import numpy as np
import pytest
import tensorflow as tf

from holdfast.checkpoints.own.own_names import inner_path
from holdfast.checkpoints.own.own_reader import open_own_checkpoint
from holdfast.checkpoints.own.saved_checkpoints import DamagedCheckpointWarning
from holdfast.checkpoints.own.store import CheckpointStore
from holdfast.checkpoints.transfer import load_checkpoint
from holdfast.config.load import load_config
from holdfast.errors import HoldfastError
from holdfast.models.detectors.build_detector import build_detector
from holdfast.models.layers.dropout import Dropout
from holdfast.models.part_names import LegacyNames
from holdfast.runs.manifest import RunManifest
from holdfast.runs.run import Run

MANIFEST = RunManifest(config={}, seed=1, versions={}, started="2026-01-02T03:04:05+00:00")


class Detector(keras.Model):
    """The smallest thing with the parts of a detector."""

    legacy = LegacyNames(backbone="dense", neck="dense", head="dense")

    def __init__(self, num_classes=3, width=4, **keywords):
        super().__init__(**keywords)
        self.backbone = keras.Sequential(
            [keras.layers.Dense(width, name="dense"), keras.layers.BatchNormalization(name="norm")],
            name="backbone",
        )
        self.neck = keras.layers.Dense(5, name="neck")
        self.dropout = Dropout(0.5, name="dropout")
        self.head = keras.layers.Dense(num_classes, name="head")
        self(np.zeros((1, 2), np.float32))

    def parts(self):
        return {"backbone": self.backbone, "neck": self.neck, "head": self.head}

    def call(self, inputs):
        return self.head(self.dropout(self.neck(self.backbone(inputs))))


def numbered(detector):
    """Give every variable values of its own."""
    for number, variable in enumerate(detector.weights):
        variable.assign(np.full(variable.shape, number + 1.0))
    return detector


def named_variables(detector):
    """What training saves of the detector itself."""
    return {f"model/{inner_path(detector, each.path)}": each for each in detector.variables}


def training_state(detector):
    """Everything that training saves of a detector; averages are the weights, negative."""
    averages = {
        f"average/{inner_path(detector, variable.path)}": -variable.value
        for variable in detector.trainable_variables
    }
    return named_variables(detector) | averages | {"optimizer/iterations": np.int64(7)}


@pytest.fixture
def source():
    return numbered(Detector())


@pytest.fixture
def run(tmp_path, source):
    """A run with checkpoints of steps 1 and 2, the first with other values."""
    with Run.create(tmp_path / "run", MANIFEST, "") as run:
        store = CheckpointStore(run.checkpoints)
        state = training_state(source)
        store.save(1, {name: value * 10 for name, value in state.items()})
        store.save(2, state)
    return run.path


def values(variables):
    return [np.asarray(variable) for variable in variables]


def assert_equal(variables, expected):
    for value, other in zip(values(variables), values(expected), strict=True):
        np.testing.assert_array_equal(value, other)


def test_variables_are_named_by_their_paths_without_the_detectors_own_name(source):
    other = Detector(name="quite_another")
    assert list(named_variables(other)) == list(named_variables(source))
    assert set(named_variables(other)) == {
        "model/backbone/dense/kernel",
        "model/backbone/dense/bias",
        "model/backbone/norm/gamma",
        "model/backbone/norm/beta",
        "model/backbone/norm/moving_mean",
        "model/backbone/norm/moving_variance",
        "model/neck/kernel",
        "model/neck/bias",
        "model/head/kernel",
        "model/head/bias",
    }


@pytest.mark.parametrize(
    "place",
    [
        "",
        "checkpoints",
        "checkpoints/step-00000002",
        "checkpoints/step-00000002/tensors",
        "checkpoints/step-00000002/tensors.index",
    ],
)
def test_a_run_its_checkpoints_and_each_of_them_can_be_loaded(run, source, place):
    detector = Detector()
    report = load_checkpoint(detector, run / place)
    assert report.is_whole
    assert_equal(detector.weights, source.weights)
    assert report.variables["model/head/bias"] is detector.head.bias


def test_an_earlier_checkpoint_can_be_chosen(run, source):
    detector = Detector()
    load_checkpoint(detector, f"{run}/checkpoints/step-00000001")
    assert_equal(detector.weights, [variable.value * 10 for variable in source.weights])


def test_what_belongs_to_the_training_is_other(run, source):
    report = load_checkpoint(Detector(), run)
    assert set(report.other) == {
        name for name in training_state(source) if not name.startswith("model/")
    }
    assert len(report.other) == 9


def test_moving_averages_are_taken_for_what_has_them(run, source):
    detector = Detector()
    load_checkpoint(detector, run, use_moving_average=True)
    assert_equal(detector.trainable_variables, [-each.value for each in source.trainable_variables])
    statistics = detector.backbone.get_layer("norm").moving_mean
    assert_equal([statistics], [source.backbone.get_layer("norm").moving_mean])


def test_moving_averages_that_are_not_there_are_an_error(tmp_path, source):
    CheckpointStore(tmp_path).save(1, named_variables(source))
    with pytest.raises(HoldfastError, match="no moving averages"):
        load_checkpoint(Detector(), tmp_path, use_moving_average=True)


def test_a_detection_load_leaves_the_head_alone(run, source):
    detector = Detector()
    before = values(detector.head.weights)
    report = load_checkpoint(detector, run, kind="detection")
    assert report.unused == ("model/head/bias", "model/head/kernel")
    assert_equal(detector.head.weights, before)
    assert_equal(detector.neck.weights, source.neck.weights)


def test_a_classification_load_fills_the_backbone_alone(run, source):
    detector = Detector()
    report = load_checkpoint(detector, run, kind="classification")
    assert len(report.loaded) == len(source.backbone.weights)
    assert_equal(detector.backbone.weights, source.backbone.weights)


def test_other_classes_keep_what_fits(run, source):
    detector = Detector(num_classes=9)
    before = values(detector.head.weights)
    report = load_checkpoint(detector, run)
    assert report.mismatched == ("model/head/kernel", "model/head/bias")
    assert_equal(detector.head.weights, before)
    assert_equal(detector.backbone.weights, source.backbone.weights)


def test_nothing_that_fits_is_an_error(tmp_path, source):
    CheckpointStore(tmp_path).save(1, {"model/strange/kernel": np.zeros(3)})
    with pytest.raises(HoldfastError, match="model/strange/kernel, and model/backbone"):
        load_checkpoint(Detector(), tmp_path)


def test_an_unknown_kind_names_the_nearest(run):
    with pytest.raises(HoldfastError, match="'detections' is not a way"):
        load_checkpoint(Detector(), run, "detections")


def test_a_run_without_a_checkpoint_is_an_error(tmp_path):
    Run.create(tmp_path, MANIFEST, "").close()
    with pytest.raises(HoldfastError, match="has no checkpoint yet"):
        load_checkpoint(Detector(), tmp_path)


def test_a_damaged_latest_checkpoint_gives_way_to_the_one_before(run, source):
    data = run / "checkpoints/step-00000002/tensors.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:-1])
    detector = Detector()
    with pytest.warns(DamagedCheckpointWarning):
        load_checkpoint(detector, run)
    assert_equal(detector.weights, [variable.value * 10 for variable in source.weights])


@pytest.mark.parametrize("name", ["tensors.data-00000-of-00001", "checkpoint.json"])
def test_a_damaged_checkpoint_that_was_asked_for_is_an_error(run, name):
    folder = run / "checkpoints/step-00000002"
    (folder / name).write_bytes(b"")
    with pytest.raises(HoldfastError, match="step-00000002"):
        load_checkpoint(Detector(), folder)


def test_a_real_detector_comes_back_whole(corpus, tmp_path):
    config = load_config(corpus / "zoo_configs/tf2/ssd_mobilenet_v2_320x320_coco17_tpu-8.config")
    detector = build_detector(config)
    before = values(detector.weights)
    CheckpointStore(tmp_path).save(1, named_variables(detector))
    for variable in detector.weights:
        variable.assign(np.full(variable.shape, -1.0))
    report = load_checkpoint(detector, tmp_path)
    assert report.is_whole
    assert_equal(detector.weights, before)


def test_a_remote_run_fills_a_detector_like_a_local_one(run, source):
    remote = "ram://runs/one"
    for path in run.rglob("*"):
        if path.is_file():
            tf.io.gfile.makedirs(f"{remote}/{path.parent.relative_to(run)}")
            tf.io.gfile.copy(str(path), f"{remote}/{path.relative_to(run)}")
    for place in (remote, f"{remote}/checkpoints/step-00000002/tensors"):
        detector = Detector()
        load_checkpoint(detector, place)
        assert_equal(detector.weights, source.weights)


def test_a_remote_checkpoint_of_the_od_api_is_not_taken_for_one_of_holdfast(source):
    prefix = "ram://zoo/ckpt-0"
    tf.raw_ops.SaveV2(
        prefix=prefix, tensor_names=["a"], shape_and_slices=[""], tensors=[tf.zeros([1])]
    )
    assert open_own_checkpoint(prefix) is None
