"""Options for the weights to start from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.config.facts.zoo import zoo_weights
from holdfast.config.nearby import written_parts
from holdfast.config.paths import PLACEHOLDER, find_checkpoint, meant
from holdfast.config.suggestions.change import Change, shown
from holdfast.config.suggestions.search import Search

_CHECKPOINT = "train_config.fine_tune_checkpoint"
# Names that say nothing about the network, up to a dot or a dash.
_ANY_NAMES = ("checkpoint", "checkpoints", "ckpt", "model", "models", "training", "train", "data")


def for_weights(search: Search) -> Iterator[Change]:
    """Name the checkpoint that was meant and is nearby, else start from random weights."""
    train = search.config.train_config
    if train is None or not search.is_wrong(_CHECKPOINT):
        return
    written = train.fine_tune_checkpoint
    archive = zoo_weights(written, search.config.model)
    found = [meant(written)] if find_checkpoint(meant(written), search.folder).files else []
    found += _chosen_checkpoints(search.nearby.checkpoints, written, archive)
    if found:
        yield Change(_CHECKPOINT, shown(found[0]), "starts from", shown(found[0]))
        return
    text = "random weights, as no checkpoint of this network was found nearby"
    yield Change(_CHECKPOINT, "", "starts from", text)
    note = "From random weights, a training needs far more images and steps."
    if archive is not None:
        note += f" `holdfast train CONFIG --pretrained {archive}` fetches published ones."
    search.notes.append(note)


def _chosen_checkpoints(
    checkpoints: Sequence[str], written: str, zoo_folder: str | None
) -> list[str]:
    """List those that share a telling name with the path, or lie in the zoo's folder."""
    telling = {name for name in written_parts(written)[-3:] if _is_telling(name)}
    telling |= {zoo_folder} if zoo_folder else set()
    shared = [(len(telling & set(written_parts(each)[-4:])), each) for each in checkpoints]
    return [each for count, each in sorted(shared, key=lambda pair: -pair[0]) if count]


def _is_telling(name: str) -> bool:
    start = name.lower().partition(".")[0].partition("-")[0]
    return start not in _ANY_NAMES and PLACEHOLDER not in name
