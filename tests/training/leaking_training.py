"""A training with a planted leak: python leaking_training.py FOLDER RUN LEAK [--steps N].

Prints what the watch says, each warning on a line that begins with `growth:`.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

hoard = []  # what a user's own code forgot to clear


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("leak", choices=["none", "list", "shape", "cache", "files"])
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    train_leaking(options)


def train_leaking(options: argparse.Namespace) -> None:
    import numpy as np
    import tensorflow as tf
    from small_training import config_text  # beside this program

    from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
    from holdfast.config.text.decode import decode
    from holdfast.data.input.pipeline import Pipeline
    from holdfast.memory.watch.leak_watch import Growth
    from holdfast.training.loop import train
    from holdfast.training.reporter import Reporter, TakenStep
    from holdfast.training.training_settings import TrainingSettings

    class Leaker(Reporter):
        def note(self, text: str) -> None:
            print("note:", text, flush=True)

        def grows(self, growth: Growth) -> None:
            print(f"growth: {growth.step}: {growth.cause.name}: {growth}", flush=True)

        def stepped(self, progress: TakenStep) -> None:
            if options.leak == "list":
                hoard.append(np.ones(50_000, np.float32))
            if options.leak == "files":
                hoard.append(open(__file__))  # noqa: SIM115

    plain = Pipeline.batches

    def cached(self: Pipeline, start: int = 0, part: object = None) -> tf.data.Dataset:
        return plain(self, start, part).cache()

    def reshaped(self: Pipeline, start: int = 0, part: object = None) -> tf.data.Dataset:
        """Pad the boxes of every sixteenth batch differently."""

        def pad(index: tf.Tensor, batch: object) -> object:
            more = tf.cast(index // 16, tf.int32)
            truth = batch.truth._replace(
                **{
                    name: tf.pad(value, [[0, 0], [0, more]] + [[0, 0]] * (len(value.shape) - 2))
                    for name, value in batch.truth._asdict().items()
                    if value is not None
                }
            )
            return batch._replace(truth=truth)

        return plain(self, start, part).enumerate().map(pad)

    if options.leak in ("cache", "shape"):
        Pipeline.batches = cached if options.leak == "cache" else reshaped
    train(
        decode(config_text(deep=True), TrainEvalPipelineConfig).message,
        options.run,
        settings=TrainingSettings(
            steps=options.steps, checkpoint_every=options.steps, evaluate_every=options.steps
        ),
        folder=options.folder,
        reporter=Leaker(),
    )
    print("done")


if __name__ == "__main__":
    main()
