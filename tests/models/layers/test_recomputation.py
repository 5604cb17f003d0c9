"""Computing blocks again for the gradient changes no number."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from holdfast.geometry.chance import image_seeds
from holdfast.memory.predict.optimized_graph import optimized_graph
from holdfast.memory.predict.step_graph import GraphNode
from holdfast.models.backbones.backbone_spec import BACKBONES
from holdfast.models.build_network import build_network  # noqa: F401  registers the backbones
from holdfast.models.layers.randomness import looking_at

ENDPOINTS = {
    "mobilenet_v2": ["layer_7", "layer_15/expansion_output"],
    "efficientnet_b0": ["level_3", "level_4"],  # drop connect is random
}


def one_step(name: str, rematerializes: bool):
    keras.utils.set_random_seed(3)
    backbone = BACKBONES[name].factory(ENDPOINTS[name])
    images = tf.random.stateless_normal((2, 64, 64, 3), (1, 2))
    backbone(images)
    for block in backbone.blocks:
        block.rematerializes = rematerializes
    variables = [variable.value for variable in backbone.trainable_variables]

    @tf.function(autograph=False)
    def step():
        with tf.GradientTape() as tape, looking_at(image_seeds(7, [0, 1])):
            features = backbone(images, training=True)
            loss = sum(tf.reduce_mean(feature**2) for feature in features)
        return loss, tape.gradient(loss, variables)

    losses = [step() for _ in range(2)]
    size = len(step.get_concrete_function().graph.get_operations())
    return losses, [np.asarray(variable.value) for variable in backbone.variables], size


@pytest.mark.parametrize("name", ENDPOINTS)
def test_losses_gradients_statistics_and_random_numbers_stay(name):
    plain, plain_variables, plain_size = one_step(name, rematerializes=False)
    again, again_variables, again_size = one_step(name, rematerializes=True)
    assert again_size > plain_size  # it did compute something twice
    for (loss, gradients), (other_loss, other_gradients) in zip(plain, again, strict=True):
        assert float(loss) == pytest.approx(float(other_loss), rel=1e-6)
        scale = max(float(tf.reduce_max(tf.abs(each))) for each in gradients if each is not None)
        for one, other in zip(gradients, other_gradients, strict=True):
            # Of a block with an unused output, what leads there has no gradient, or one of 0.
            if other is None:
                assert one is None
                continue
            one = np.zeros(other.shape) if one is None else one
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6 * scale)
    for one, other in zip(plain_variables, again_variables, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_gradients_of_kernels_come_before_those_of_what_they_were_applied_to():
    backbone = BACKBONES["mobilenet_v2"].factory(ENDPOINTS["mobilenet_v2"])
    images = tf.zeros((1, 64, 64, 3))
    backbone(images)
    for block in backbone.blocks:
        block.rematerializes = True

    @tf.function(autograph=False)
    def gradients():
        with tf.GradientTape() as tape:
            loss = sum(tf.reduce_mean(each) for each in backbone(images, training=True))
        return tape.gradient(loss, [each.value for each in backbone.trainable_variables])

    graph = optimized_graph(gradients.get_concrete_function().graph)
    nodes = {node.name: node for node in graph.nodes}

    def waits_for_a_kernel(node: GraphNode) -> bool:
        sources = [nodes[each.node] for each in node.inputs]
        before = [name for each in (node, *sources) for name in each.waits_for]
        return any(nodes[name].operation.endswith("BackpropFilter") for name in before)

    of_inputs = [node for node in graph.nodes if node.operation.endswith("BackpropInput")]
    assert len(of_inputs) > 30
    assert all(map(waits_for_a_kernel, of_inputs))


def test_nothing_is_computed_twice_at_inference():
    backbone = BACKBONES["mobilenet_v2"].factory(ENDPOINTS["mobilenet_v2"])
    images = tf.zeros((1, 64, 64, 3))
    backbone(images)

    def size() -> int:
        function = tf.function(lambda: backbone(images, training=False), autograph=False)
        return len(function.get_concrete_function().graph.get_operations())

    before = size()
    for block in backbone.blocks:
        block.rematerializes = True
    assert size() == before
