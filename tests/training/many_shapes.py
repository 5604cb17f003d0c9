"""A training on images of many shapes, as a process of its own: what it traced and held, as JSON.

python many_shapes.py DATA RUN BATCH_SIZE RESIZER [narrow]
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import tensorflow as tf
from tests.training.small_training import config_text, given_plan

import holdfast
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.config.text.overrides import apply_overrides
from holdfast.data.sample import Batch
from holdfast.memory.devices.host import resident_bytes
from holdfast.training.reporter import Reporter, TakenStep
from holdfast.training.step.training_step import TrainingStep
from holdfast.training.training_settings import TrainingSettings

EPOCHS = 2


class Noting(Reporter):
    """Notes what the process holds after each step."""

    def __init__(self) -> None:
        self.held: list[int] = []

    def stepped(self, step: TakenStep) -> None:
        self.held.append(resident_bytes())


def main(data: str, run: str, batch_size: str, resizer: str, width: str = "wide") -> None:
    text = config_text(deep=True).replace("fixed_shape_resizer { height: 64 width: 64 }", resizer)
    is_narrow = width == "narrow"
    if not is_narrow:
        text = text.replace("depth_multiplier: 0.1 min_depth: 8", "depth_multiplier: 1.0")
    config = decode(text, TrainEvalPipelineConfig).message
    config, problems = apply_overrides(config, {"train_config.batch_size": int(batch_size)})
    assert not problems, problems
    traces, plain = [], TrainingStep._run

    def counted(self: TrainingStep, batch: Batch, step: object) -> object:
        traces.append([str(each.shape) for each in tf.nest.flatten(batch) if each is not None])
        return plain(self, batch, step)

    TrainingStep._run = counted
    images = len(list(Path(data).parent.glob("source/*.jpg")))
    noting = Noting()
    result = holdfast.train(
        config,
        run,
        plan=given_plan(int(batch_size)) if is_narrow else None,
        settings=TrainingSettings(steps=EPOCHS * images // int(batch_size), evaluate_every=10**6),
        folder=data,
        reporter=noting,
    )
    print(
        json.dumps(
            {
                "traces": traces,
                "predicted": result.predicted_peak_bytes,
                "measured": result.measured_peak_bytes,
                "held": noting.held,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
