"""`holdfast weights get`: fetch published weights, and prove them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import JsonOption, MirrorOption, SetOption
from holdfast.cli.weights.name_argument import NameArgument
from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast.checkpoints.zoo.fetch_weights import Proof
    from holdfast.config.schema.model import DetectionModel


def get(
    name: NameArgument,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Archive, or the folder it unpacks to, that was downloaded by hand.",
            show_default=False,
        ),
    ] = None,
    mirror: MirrorOption = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--for",
            metavar="CONFIG",
            help="A pipeline.config whose network they have to fill. NAME may be imagenet then: "
            "Keras' classifier of its backbone.",
            show_default=False,
        ),
    ] = None,
    assignments: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch weights into the cache, unless they are there, and print their path.

    An interrupted download is resumed. Archives are unpacked with care, every value is read, and
    the network of the config beside them must be filled whole; only then do they come into the
    cache: HOLDFAST_CACHE, by default ~/.cache/holdfast. Without a network, download the file
    elsewhere and give it with --from.

    Exit code: 0 they are here, 2 they are not.

    Example: `holdfast weights get fpnlite_320`

    Example: `holdfast weights get fpnlite_320 --from downloads/archive.tar.gz`
    """
    if source is not None and mirror is not None:
        raise HoldfastError("--from and --mirror both say where the file is.", fix="Give one.")
    from holdfast.cli.quiet import load_tensorflow

    load_tensorflow()
    from holdfast.checkpoints.zoo.fetch_weights import fetch_weights
    from holdfast.checkpoints.zoo.find_weights import IMAGENET, imagenet_weights
    from holdfast.cli.progress_bar import progress

    model = _model(config, assignments or ()) if config is not None else None
    if name == IMAGENET:
        name = imagenet_weights(model).name
    prove = _proof(model)
    stored = fetch_weights(name, source=source, mirror=mirror, prove=prove, watch=progress)
    if model is not None:
        prove(stored)  # they may have been here already
    if as_json:
        kind = "classification" if stored.is_classifier else "full"
        document = {
            "name": stored.name,
            "path": stored.checkpoint,
            "folder": str(stored.folder),
            "fine_tune_checkpoint_type": kind,
        }
        typer.echo(json.dumps(document, indent=1))
    else:
        typer.echo(stored.checkpoint)


def _model(config: Path, assignments: Sequence[str]) -> DetectionModel:
    from holdfast.cli.set_option import parse_assignments
    from holdfast.config.load import load_config

    model = load_config(config, parse_assignments(list(assignments))).model
    if model is None:
        raise HoldfastError(f"{config} has no model.", fix="Write model { … }.")
    return model


def _proof(model: DetectionModel | None) -> Proof:
    from holdfast.checkpoints.zoo.prove_weights import prove_filling, prove_readable, prove_weights
    from holdfast.checkpoints.zoo.weights_cache import StoredWeights

    if model is None:
        return prove_weights

    def prove(weights: StoredWeights) -> None:
        prove_readable(weights)
        prove_filling(weights, model)

    return prove
