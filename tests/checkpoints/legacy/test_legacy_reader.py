import csv

import numpy as np
import pytest
import tensorflow as tf

from holdfast.checkpoints.legacy.legacy_reader import open_checkpoint
from holdfast.checkpoints.legacy.legacy_sorting import VALUE_SUFFIX
from holdfast.errors import HoldfastError

from ..bundles import write_bundle


@pytest.fixture(scope="module")
def indexes(corpus):
    """Every real index, open, with the zoo config that made it (or "")."""
    folder = corpus / "checkpoint_indexes"
    with (folder / "index.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [(open_checkpoint(folder / row["file"]), row["zoo_config"] or "") for row in rows]


def test_every_real_index_opens_without_its_values(indexes):
    assert len(indexes) == 65
    assert all(checkpoint.shapes for checkpoint, _ in indexes)


def test_real_indexes_are_of_the_generation_of_their_zoo_config(indexes):
    for checkpoint, zoo_config in indexes:
        if zoo_config:
            assert checkpoint.generation == zoo_config.partition("/")[0]


def test_names_of_the_model_in_real_indexes_are_those_of_layers(indexes):
    endings = {
        *("weights", "biases", "depthwise_weights", "pointwise_weights"),  # slim
        *("kernel", "bias", "depthwise_kernel", "pointwise_kernel", "bifpn_combine_weights"),
        *("beta", "gamma", "moving_mean", "moving_variance"),
    }
    for checkpoint, _ in indexes:
        names = {name.removesuffix(VALUE_SUFFIX).rpartition("/")[2] for name in checkpoint.shapes}
        assert names <= endings


def test_other_names_in_real_indexes_are_never_of_layers(indexes):
    for checkpoint, _ in indexes:
        for name in checkpoint.other:
            assert not name.endswith(("weights", "biases", f"kernel{VALUE_SUFFIX}")), name


def test_moving_averages_in_real_indexes_cover_all_that_is_trained(indexes):
    averaged = [checkpoint for checkpoint, _ in indexes if checkpoint.averages]
    assert len(averaged) == 6
    for checkpoint in averaged:
        trained = {name for name in checkpoint.shapes if "moving_" not in name}
        assert set(checkpoint.averages) == trained


def test_a_value_is_read_by_its_name(tmp_path):
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    prefix = write_bundle(tmp_path / "ckpt-0", {"Conv/weights": value, "global_step": np.int64(7)})
    checkpoint = open_checkpoint(prefix)
    assert checkpoint.shapes == {"Conv/weights": (2, 3)}
    assert checkpoint.other == ("global_step",)
    np.testing.assert_array_equal(checkpoint.value("Conv/weights"), value)


def test_the_oldest_format_of_one_file_is_read(tmp_path):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variable = tf.compat.v1.get_variable("weights", initializer=[1.0, 2.0])
        session.run(variable.initializer)
        saver = tf.compat.v1.train.Saver(write_version=tf.compat.v1.train.SaverDef.V1)
        saver.save(session, f"{tmp_path}/resnet.ckpt", write_meta_graph=False)
    checkpoint = open_checkpoint(tmp_path / "resnet.ckpt")
    assert checkpoint.shapes == {"weights": (2,)}
    np.testing.assert_array_equal(checkpoint.value("weights"), [1.0, 2.0])


def test_an_index_without_data_is_named_when_a_value_is_asked_for(corpus):
    checkpoint = open_checkpoint(corpus / "checkpoint_indexes" / "checkpoint28")
    with pytest.raises(HoldfastError, match=r"no \.data file") as error:
        checkpoint.value("FeatureExtractor/MobilenetV1/Conv2d_0/weights")
    assert "checkpoint28.data-00000-of-00001" in error.value.fix


def test_a_cut_file_is_named_with_the_tensor_that_is_lost(tmp_path):
    write_bundle(tmp_path / "ckpt-0", {"weights": np.ones(1000, np.float32)})
    data = tmp_path / "ckpt-0.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:100])
    with pytest.raises(HoldfastError, match="weights cannot be read") as error:
        open_checkpoint(tmp_path / "ckpt-0").value("weights")
    assert "again" in error.value.fix


def test_a_damaged_index_is_an_error(tmp_path):
    (tmp_path / "ckpt-0.index").write_bytes(b"not a table")
    with pytest.raises(HoldfastError, match="cannot be read as a checkpoint"):
        open_checkpoint(tmp_path / "ckpt-0")
