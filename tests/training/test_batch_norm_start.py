"""Batch-norm statistics of a checkpoint: kept where they fit, re-estimated where they do not."""

import keras
import numpy as np
import pytest
from tests.training.small_training import config_text, given_plan

from holdfast.checkpoints.own.own_reader import open_own_checkpoint
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.models.layers.batch_norm import BatchNormSettings, FusedBatchNorm, batch_norms
from holdfast.training.batch_norm_start import Moments, fits, misfit, refit_batch_norms
from holdfast.training.loop import train
from holdfast.training.training_settings import TrainingSettings


class Network(keras.Model):
    """Two convolutions, each with a batch norm."""

    def __init__(self):
        super().__init__()
        self.first = keras.layers.Conv2D(6, 3, padding="same")
        self.norm = FusedBatchNorm(BatchNormSettings(momentum=0.9))
        self.second = keras.layers.Conv2D(5, 1)
        self.last_norm = FusedBatchNorm(BatchNormSettings())

    def call(self, images, training=False):
        inner = self.norm(self.first(images), training=training)
        return self.last_norm(self.second(keras.ops.relu(inner)), training=training)


@pytest.fixture
def images():
    return np.random.default_rng(0).normal(3.0, 2.0, (8, 12, 10, 3)).astype(np.float32)


@pytest.fixture
def network(images):
    keras.utils.set_random_seed(0)
    network = Network()
    network(images)
    return network


def fill_with_true_statistics(network, images):
    """The oracle: moments of each layer's inputs, by NumPy."""
    first = np.asarray(network.first(images))
    set_statistics(network.norm, first)
    inner = np.maximum(np.asarray(network.norm(first)), 0)
    set_statistics(network.last_norm, np.asarray(network.second(inner)))


def set_statistics(layer, inputs):
    layer.moving_mean.assign(inputs.mean(axis=(0, 1, 2)))
    layer.moving_variance.assign(inputs.var(axis=(0, 1, 2)))


def fold(layer):
    """Move the statistics into scale and offset, as tools that fold batch norm leave them."""
    scale = layer.gamma.numpy() / np.sqrt(layer.moving_variance.numpy() + 1e-3)
    layer.beta.assign(layer.beta.numpy() - layer.moving_mean.numpy() * scale)
    layer.gamma.assign(scale * np.sqrt(1 + 1e-3))
    layer.moving_mean.assign(np.zeros_like(scale))
    layer.moving_variance.assign(np.ones_like(scale))


def test_statistics_that_fit_are_left_alone(network, images):
    fill_with_true_statistics(network, images)
    before = [weight.numpy() for weight in network.weights]
    assert refit_batch_norms(network, batch_norms(network), [images]) is None
    for weight, value in zip(network.weights, before, strict=True):
        np.testing.assert_array_equal(weight.numpy(), value)


def test_folded_statistics_are_estimated_again_and_the_network_computes_the_same(network, images):
    fill_with_true_statistics(network, images * 4 + 10)
    network.norm.gamma.assign([0.5, 2, 1, 3, 0.1, 1])
    for layer in batch_norms(network):
        fold(layer)
    expected = np.asarray(network(images))
    done = refit_batch_norms(network, batch_norms(network), [images[:5], images[5:]])
    assert done is not None
    assert (done.layers, done.images) == (2, 8)
    assert "batch-norm statistics" in str(done)
    np.testing.assert_allclose(network(images), expected, atol=1e-4)
    first = np.asarray(network.first(images))
    np.testing.assert_allclose(network.norm.moving_mean, first.mean(axis=(0, 1, 2)), rtol=1e-4)
    np.testing.assert_allclose(network.norm.moving_variance, first.var(axis=(0, 1, 2)), rtol=1e-4)


def test_after_it_the_first_training_step_sees_what_inference_sees(network, images):
    for layer in batch_norms(network):
        layer.gamma.assign(np.linspace(0.1, 3, layer.gamma.shape[0]))
        layer.moving_mean.assign(np.full(layer.gamma.shape, 20.0))
    expected = np.asarray(network(images))
    assert np.abs(np.asarray(network(images, training=True)) - expected).max() > 1
    for layer in batch_norms(network):  # the training call above moved them
        layer.moving_mean.assign(np.full(layer.gamma.shape, 20.0))
        layer.moving_variance.assign(np.ones(layer.gamma.shape))
    refit_batch_norms(network, batch_norms(network), [images])
    np.testing.assert_allclose(network(images, training=True), expected, atol=2e-3)


def test_nothing_is_observed_afterwards(network, images):
    refit_batch_norms(network, batch_norms(network), [images])
    assert all(layer.observer is None for layer in batch_norms(network))


def test_the_median_channel_decides(network):
    layer = network.norm
    mean, variance = np.zeros(6), np.ones(6)
    mean[0], variance[1] = 100, 1e6
    assert fits(layer, Moments(mean=mean, variance=variance))
    shift, ratio = misfit(layer, Moments(mean=np.full(6, 2.0), variance=np.full(6, 100.0)))
    assert shift == pytest.approx(2, rel=1e-3)
    assert ratio == pytest.approx(10, rel=1e-3)
    assert not fits(layer, Moments(mean=np.full(6, 2.0), variance=np.ones(6)))


def test_a_network_without_loaded_batch_norms_is_not_run(images):
    def fail(*_, **__):
        raise AssertionError("it was run")

    assert refit_batch_norms(fail, [], [images]) is None


@pytest.mark.parametrize("frozen", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_training_says_and_records_that_statistics_did_not_fit(frozen, tmp_path):
    """Statistics that were never trained are of no image; where they stay frozen, they may."""
    source = open_source("16@64", format_name="synthetic", masks=False)
    convert(source, str(tmp_path), val=0)
    settings = TrainingSettings(steps=1, evaluate_every=100, plan=given_plan())
    first = decode(config_text(chance=False, evaluates=False), TrainEvalPipelineConfig).message
    train(first, tmp_path / "first", settings=settings, folder=tmp_path)
    text = config_text(frozen=frozen, chance=False, evaluates=False)
    checkpoint = open_own_checkpoint(tmp_path / "first").prefix
    start = f'train_config {{ fine_tune_checkpoint: "{checkpoint}"'
    text = text.replace("train_config {", f'{start} fine_tune_checkpoint_type: "detection" ')
    second = decode(text, TrainEvalPipelineConfig).message
    train(second, tmp_path / "second", settings=settings, folder=tmp_path)
    events = (tmp_path / "second" / "events.jsonl").read_text()
    assert "Starts from" in events
    assert ("did not fit the training images" in events) is not frozen
