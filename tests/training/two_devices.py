"""A program that trains two variables on two devices; run it in a process of its own.

TensorFlow divides a processor into devices only before it is first used.
"""

from __future__ import annotations

import sys

import keras
import numpy as np
import tensorflow as tf

from holdfast.training.step.averaging import MovingAverages
from holdfast.training.step.gradients import clip_by_global_norm
from holdfast.training.step.optimizers import Adam, Momentum, RMSProp, Rule, StepOptimizer
from holdfast.training.step.precision import LossScale

RULES: dict[str, Rule] = {"momentum": Momentum(), "rms_prop": RMSProp(), "adam": Adam()}
BAD_STEP = 5


class Trainer:
    """What a training step needs, made in the scope of a strategy."""

    def __init__(self, strategy: tf.distribute.Strategy, rule: Rule, start: np.ndarray) -> None:
        self.strategy = strategy
        with strategy.scope():
            self.weight = keras.Variable(start, name="kernel")
            self.optimizer = StepOptimizer([self.weight], rule)
            self.averages = MovingAverages([self.weight])
            self.loss_scale = LossScale()

    @tf.function
    def step(self, gradient: tf.Tensor, learning_rate: tf.Tensor) -> None:
        """Let each replica find its part of the gradient; update where all are one."""
        gradients, norm = self.strategy.run(self._gradients, (gradient,))
        norm = self.strategy.experimental_local_results(norm)[0]
        is_finite = tf.math.is_finite(norm)

        def update() -> bool:
            self.optimizer.apply(gradients, learning_rate)
            self.averages.follow([], self.optimizer.updates)
            return True

        tf.cond(is_finite, update, lambda: False)
        self.loss_scale.update(is_finite)

    def _gradients(self, gradient: tf.Tensor) -> tuple[list[tf.Tensor], tf.Tensor]:
        replica = tf.distribute.get_replica_context()
        index = tf.cast(replica.replica_id_in_sync_group, tf.float32)
        with tf.GradientTape() as tape:
            # One replica contributes 3/4 of the gradient, the other 1/4.
            loss = tf.reduce_sum(self.weight.value * gradient) * (0.75 - 0.5 * index)
            scaled = self.loss_scale.scale(loss)
        parts = tape.gradient(scaled, [self.weight.value])
        summed = replica.all_reduce(tf.distribute.ReduceOp.SUM, parts)
        return clip_by_global_norm(self.loss_scale.unscale(summed), None)

    def results(self, name: str) -> dict[str, object]:
        """Give what each device holds."""
        weight, average = self.weight.value, self.averages.variables["kernel"]
        results = {
            "weights": on_each_device(weight),
            "averages": on_each_device(average),
            "updates": self.optimizer.updates.numpy(),
            "scale": self.loss_scale.variables["scale"].numpy(),
        }
        with self.averages.swapped():
            results["swapped"] = on_each_device(weight)
        results["back"] = on_each_device(weight)
        return {f"{name} {kind}": values for kind, values in results.items()}


def on_each_device(variable: tf.Variable) -> list[np.ndarray]:
    return [part.numpy() for part in variable.values]


def main(inputs: str, outputs: str) -> None:
    """Train with each rule and write what each device holds in the end."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    given, results = np.load(inputs), {}
    for name, rule in RULES.items():
        trainer = Trainer(strategy, rule, given["start"].astype(np.float32))
        with strategy.scope():
            for step, (gradient, rate) in enumerate(
                zip(given["gradients"], given["rates"], strict=True)
            ):
                if step == BAD_STEP:
                    trainer.step(tf.fill(gradient.shape, np.inf), tf.constant(rate, tf.float32))
                trainer.step(tf.constant(gradient, tf.float32), tf.constant(rate, tf.float32))
            results |= trainer.results(name)
    np.savez(outputs, **results)


if __name__ == "__main__":
    main(*sys.argv[1:])
