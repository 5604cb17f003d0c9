"""A training with few addresses: python few_addresses.py CONFIG FOLDER RUN [--limit BYTES].

The limit is what the process may take besides what it has before anything is built. The last line
printed is what it took, in bytes.
"""

from __future__ import annotations

import argparse
import os
import resource
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("config", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--learning-rate", type=float, required=True)
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    train_limited(options)


def train_limited(options: argparse.Namespace) -> None:
    import tensorflow as tf

    import holdfast
    from holdfast.training.training_settings import TrainingSettings

    rate = "train_config.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate."
    config = holdfast.load_config(
        options.config,
        {
            f"{rate}learning_rate_base": options.learning_rate,
            f"{rate}warmup_learning_rate": options.learning_rate,
            "train_config.batch_size": options.batch_size,
            "train_config.fine_tune_checkpoint": "",
            "train_input_reader.label_map_path": "label_map.pbtxt",
            "train_input_reader.tf_record_input_reader.input_path": "train.record-*",
            "eval_input_reader": (),
        },
    )
    tf.zeros(()).numpy()  # TensorFlow starts its threads with the first tensor
    before = addresses("VmSize")
    if options.limit is not None:
        most = before + options.limit
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    steps = TrainingSettings(
        deterministic=True,
        steps=options.steps,
        evaluate_every=options.steps,
        checkpoint_every=options.steps,
    )
    holdfast.train(config, options.run, settings=steps, folder=options.folder)
    print(addresses("VmPeak") - before)


def addresses(field: str) -> int:
    """Give the bytes of address space that this process has, or had at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    found = next(line for line in lines if line.startswith(f"{field}:"))
    return int(found.split()[1]) * 1024


if __name__ == "__main__":
    main()
