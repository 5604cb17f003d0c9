"""`holdfast adapt`: a new config for other data, another resolution or less memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import (
    ClassesOption,
    ConfigArgument,
    FormatOption,
    ImagesOption,
    ImportOption,
    JsonOption,
    LabelMapOption,
    MapOption,
    MemoryOption,
    SplitSeedOption,
)
from holdfast.config.paths import expand
from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
    from holdfast.projects.adapting.adapted_data import DataWish
    from holdfast.projects.adapting.alternatives import PredictPeak

_ANY_BYTES = 2**60  # a limit that everything fits into: the step is predicted as it is


def adapt(
    config: ConfigArgument,
    resolution: Annotated[
        str | None,
        typer.Option(
            metavar="HxW|N",
            help="Height and width of the network's input, such as 1024x1024 or 1024.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIR",
            help="Other data to train on: labeled images of any format, or TFRecords. Can be "
            "repeated; the data sets are merged.",
            show_default=False,
        ),
    ] = None,
    memory: MemoryOption = None,
    batch_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Images per step. Default: as it is, or with --memory what fits.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The new config. Default: named after the old one, in the working directory.",
            show_default=False,
        ),
    ] = None,
    format_name: FormatOption = None,
    label_map: LabelMapOption = None,
    images: ImagesOption = None,
    classes: ClassesOption = None,
    merge: MapOption = None,
    val: Annotated[
        float,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="Share of new data that is used for validation."
        ),
    ] = 0.2,
    seed: SplitSeedOption = 0,
    imports: ImportOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a new config for another resolution, other data, other classes or less memory.

    Anchors are refit to the boxes and measured, never more of them than before; length, learning
    rate and averages of the training follow batch and data. Every change is printed with its
    reason. The old file is not changed; the new one keeps its comments and order.

    Exit code: 0 the new config is ready to train, 1 something remains to be done, 2 the command, a
    file or the config is wrong.

    Example: `holdfast adapt pipeline.config --resolution 640 --batch-size 8`
    """
    from holdfast.projects.adapting.change_input import parse_resolution

    wanted = parse_resolution(resolution) if resolution is not None else None
    place = _out(config, out, wanted)
    from holdfast.cli.quiet import load_tensorflow

    load_tensorflow(imports)
    from holdfast.cli.adapt.adapt_report import adapted_json, print_adapted
    from holdfast.cli.adapt.findings import asked_by_findings
    from holdfast.cli.progress_bar import progress
    from holdfast.projects.adapting.adapt_config import AdaptWish
    from holdfast.projects.adapting.adapt_config import adapt as adapt_config

    reading = _data_wish(data, format_name, label_map, images, classes, merge, val, seed)
    adapted = adapt_config(
        AdaptWish(
            config=config,
            out=place,
            resolution=wanted,
            data=reading,
            label_map=label_map if reading is None else None,
            batch_size=batch_size,
            room_bytes=_room(memory),
        ),
        _predictor(),
        ask=asked_by_findings,
        watch=progress,
    )
    if as_json:
        typer.echo(json.dumps(adapted_json(adapted), indent=1))  # ASCII: any pipe can carry it
    else:
        print_adapted(adapted)
    raise typer.Exit(0 if adapted.check.ok and adapted.fits else 1)


def _out(config: Path, out: str | None, resolution: tuple[int, int] | None) -> Path:
    if out is not None:
        return Path(expand(out))
    ending = "adapted" if resolution is None else f"{resolution[0]}x{resolution[1]}"
    return Path(f"{config.stem}_{ending}.config")


def _data_wish(
    data: list[str] | None,
    format_name: str | None,
    label_map: str | None,
    images: str | None,
    classes: list[str] | None,
    merge: list[str] | None,
    val: float,
    seed: int,
) -> DataWish | None:
    if not data:
        named = {"--format": format_name, "--images": images, "--classes": classes, "--map": merge}
        for name, value in named.items():
            if value:
                raise HoldfastError(
                    f"{name} says how to read new data, and none is named.",
                    fix="Name it with --data, too.",
                )
        return None
    from holdfast.data.conversion.open_sources import DataOptions
    from holdfast.data.sources.choose_classes import ClassChoice
    from holdfast.projects.adapting.adapted_data import DataWish
    from holdfast.projects.project_data import SplitOptions

    return DataWish(
        locations=tuple(data),
        reading=DataOptions(
            format_name=format_name,
            label_map=label_map,
            images=images,
            seed=seed,
            val=val,
            choice=ClassChoice(tuple(classes or ()), tuple(merge or ())),
        ),
        split=SplitOptions(val=val, resplit=False, shards=None, seed=seed, strict=False),
    )


def _room(memory: str | None) -> int | None:
    """Give what a training may need above what the process holds already."""
    if memory is None:
        return None
    from holdfast.memory.devices.device import CPU, device_limit
    from holdfast.memory.devices.host import resident_bytes
    from holdfast.units import parse_bytes

    limit = device_limit(None, parse_bytes(memory))
    return limit.bytes - (resident_bytes() if limit.device == CPU else 0)


def _predictor() -> PredictPeak:
    """Make the function that predicts memory; what it was asked before it remembers."""
    from holdfast.cli.terminal import error_console
    from holdfast.config.text.encode import encode
    from holdfast.training.api import plan

    known: dict[str, int | None] = {}

    def predict(config: TrainEvalPipelineConfig) -> int | None:
        key = f"{config.folder}\n{encode(config)}"
        if key not in known:
            error_console().print(f"predicting the memory of {_described(config)} …")
            try:
                known[key] = plan(config, _ANY_BYTES, folder=config.folder).predicted_peak_bytes
            except HoldfastError:  # a network that cannot be built has no peak
                known[key] = None
        return known[key]

    return predict


def _described(config: TrainEvalPipelineConfig) -> str:
    from holdfast.config.facts.input_sizes import input_shape
    from holdfast.config.facts.networks import network_of
    from holdfast.config.schema.train import TrainConfig

    network = network_of(config.model) if config.model else None
    shape = input_shape(config.model) if config.model else None
    name = network.known.backbone if network is not None else "the network"
    size = f" at {shape.height} x {shape.width}" if shape is not None else ""
    batch = (config.train_config or TrainConfig()).batch_size
    return f"{name}{size}, batch {batch}"
