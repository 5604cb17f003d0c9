"""Options that only `holdfast train` has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RunOption = Annotated[
    Path,
    typer.Option(
        metavar="DIR",
        help="Folder of the run, or gs://BUCKET/FOLDER. An existing run is resumed.",
        show_default=False,
    ),
]
PretrainedOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Start from published weights instead of the config's: a name of `holdfast "
        "weights list`, a recipe, an address or an archive; imagenet: Keras' classifier of "
        "the backbone.",
        show_default=False,
    ),
]
StepsOption = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Steps in total. Default: train_config.num_steps."),
]
SeedOption = Annotated[
    int,
    typer.Option(metavar="N", help="Seed of first weights, order and random choices."),
]
EvaluateEveryOption = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Steps between evaluations. Default: a tenth, at least 100."
    ),
]
CheckpointEveryOption = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", help="Steps between checkpoints: the most to lose in a crash."
    ),
]
KeepOption = Annotated[
    int, typer.Option(min=1, metavar="N", help="Checkpoints to keep, besides the best one.")
]
PatienceOption = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Stop after N evaluations in a row that are not better."),
]
DeterministicOption = Annotated[
    bool, typer.Option("--deterministic", help="Repeatable to the last bit, but slower.")
]
ClassWeightsOption = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="Give rare classes more weight: auto (by effective number), inverse (by "
        "frequency) or a file.",
        show_default=False,
    ),
]
TeacherOption = Annotated[
    str | None,
    typer.Option(
        metavar="RUN",
        help="Also learn from what a trained detector with the same label map says: a run, a "
        "checkpoint of one, or a SavedModel.",
        show_default=False,
    ),
]
OptimizerOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Instead of the config's: adamw, lion or rmsprop_decoupled, with numbers as in "
        "adamw,weight_decay=0.05. The learning rate stays the config's.",
        show_default=False,
    ),
]
ScheduleOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Instead of the config's learning rate: one_cycle,rate=0.01 or "
        "cosine_restarts,rate=0.01,period=1000.",
        show_default=False,
    ),
]
ClipByGroupOption = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        metavar="NORM",
        help="Clip the gradient of each layer group to this length.",
        show_default=False,
    ),
]
PruneOption = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE",
        help="Set this share of the weights to 0 while training, as in 0.5 or "
        "0.5,begin=200,end=1200: a smaller file once it is zipped.",
        show_default=False,
    ),
]
QuantizeOption = Annotated[
    bool,
    typer.Option(
        "--quantize",
        help="Train for integers of 8 bits: observe ranges in the first half of the steps, "
        "round kernels and activations in the second. Sets graph_rewriter.quantization.",
    ),
]
CapsuleAtOption = Annotated[
    list[int] | None,
    typer.Option(
        min=1,
        metavar="STEP",
        help="Keep everything about a step in a file for `holdfast replay`. Can be repeated.",
        show_default=False,
    ),
]
ProfileAtOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="STEP",
        help="From this step on, trace where the time of some steps goes (`holdfast profile`).",
        show_default=False,
    ),
]
PlanOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Plan to follow: plan.json of a run, or what `holdfast plan --json` printed.",
        show_default=False,
    ),
]
PeerTimeoutOption = Annotated[
    float,
    typer.Option(
        min=5.0,
        metavar="S",
        help="With TF_CONFIG: seconds to wait for another process, at the start and in a step.",
    ),
]
RehearseOption = Annotated[
    bool,
    typer.Option(
        "--rehearse", help="First compute the worst batch of the data once, without learning."
    ),
]
