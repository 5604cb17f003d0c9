"""The steps of `holdfast adapt`: a new config for other data, another resolution or less memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from holdfast.config.check_config import CheckReport, check_config
from holdfast.config.label_map import largest_id
from holdfast.config.load import load_config, read_text
from holdfast.config.paths import find_files
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.data.records.label_map_files import open_label_map
from holdfast.data.survey.observe import Observation
from holdfast.errors import HoldfastError
from holdfast.files import write_text
from holdfast.progress import Watch, unwatched
from holdfast.projects.adapting.adapted_data import AdaptedData, DataWish, open_data, own_data
from holdfast.projects.adapting.alternatives import (
    Alternative,
    Asked,
    PredictPeak,
    described,
    offers_others,
    siblings,
    tiled,
)
from holdfast.projects.adapting.change_anchors import anchor_changes
from holdfast.projects.adapting.change_asked import Ask, asked_changes, nothing_asked
from holdfast.projects.adapting.change_data import class_changes, data_changes, label_map_changes
from holdfast.projects.adapting.change_input import input_changes
from holdfast.projects.adapting.change_schedule import schedule_changes, wanted_pace
from holdfast.projects.adapting.field_change import FieldChange, changed, changed_text
from holdfast.projects.adapting.fit_batch import fit_batch
from holdfast.projects.adapting.moved_paths import moved_paths
from holdfast.projects.adapting.refit_anchors import RefitAnchors
from holdfast.projects.project_folder import written_path
from holdfast.units import bytes_text

COMMENTS_LOST = "The text could not be changed in place: comments and order of the old are lost."
NO_DATA = "There is no data to refit anchors to: they stay as they are. Give it with --data."
NO_ANCHORS = "The detector has no anchors to refit."


@dataclass(frozen=True, kw_only=True)
class AdaptWish:
    """What the user asks for; None: as it is."""

    config: Path
    out: Path
    resolution: tuple[int, int] | None = None  # height, width
    data: DataWish | None = None
    label_map: str | None = None  # with the config's own data
    batch_size: int | None = None
    room_bytes: int | None = None  # that a training may need, at most


@dataclass(frozen=True, kw_only=True)
class Adapted:
    """What came of it."""

    out: Path
    config: TrainEvalPipelineConfig
    changes: tuple[FieldChange, ...]
    anchors: RefitAnchors | None
    peak_before: int | None  # predicted bytes
    peak_after: int | None
    fits: bool  # into the memory that was given
    alternatives: tuple[Alternative, ...]
    notes: tuple[str, ...]
    check: CheckReport


@dataclass
class _Draft:
    """A config on its way: every change is made to what the ones before left."""

    config: TrainEvalPipelineConfig
    changes: list[FieldChange] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def make(self, changes: Iterable[FieldChange]) -> None:
        new = list(changes)
        self.config = changed(self.config, new)
        self.changes += new


def adapt(
    wish: AdaptWish,
    predict: PredictPeak,
    *,
    ask: Ask = nothing_asked,
    watch: Watch = unwatched,
) -> Adapted:
    """Write a new config; the old one is never touched.

    Args:
        wish: What to change.
        predict: Says how much memory a training with a config needs.
        ask: Says what else should be set in the new config; what is wrong with it, say.
        watch: Is told of work that takes time.

    Returns:
        The new config, its changes with their reasons, and what else there is.
    """
    _refuse_existing(wish.out)
    original = load_config(wish.config)
    if original.model is None or original.model.which("model") is None:
        raise HoldfastError(f"{wish.config} has no model to adapt.", fix="Give another config.")
    draft = _Draft(original)
    if wish.resolution is not None:
        draft.make(input_changes(draft.config, wish.resolution))
    data = _make_data_changes(draft, wish, original, watch)
    draft.config = draft.config.replace(folder=str(wish.out.parent))
    seen = data.seen if data is not None else ()
    refit = _make_anchor_changes(draft, seen)
    fits = _make_schedule_changes(draft, wish, data, predict)
    known = {each.path for each in draft.changes}
    draft.make(asked_changes(draft.config, ask(draft.config), known))
    text, is_kept = changed_text(read_text(wish.config), draft.config, draft.changes)
    if not is_kept:
        draft.notes.append(COMMENTS_LOST)
    write_text(wish.out, text)
    return Adapted(
        out=wish.out,
        config=draft.config,
        changes=tuple(draft.changes),
        anchors=refit,
        peak_before=predict(original),
        peak_after=predict(draft.config),
        fits=fits,
        alternatives=_alternatives(draft.config, original, wish, seen, refit, predict),
        notes=tuple(draft.notes),
        check=check_config(wish.out),
    )


def _refuse_existing(out: Path) -> None:
    if out.exists():
        raise HoldfastError(
            f"{out} is there already, and is not overwritten.",
            fix="Give another name with --out, or move it away.",
        )


def _make_data_changes(
    draft: _Draft, wish: AdaptWish, original: TrainEvalPipelineConfig, watch: Watch
) -> AdaptedData | None:
    folder = wish.out.parent
    if wish.data is None:
        if folder.resolve() != wish.config.parent.resolve():
            draft.make(moved_paths(draft.config, wish.config.parent, folder))
        if wish.label_map is not None:
            _make_label_map_changes(draft, wish.label_map, folder)
        return own_data(original, wish.config.parent, watch)
    data = open_data(wish.data, original, wish.out, watch)
    draft.make(
        data_changes(draft.config, data.readers, data.eval_split, data.images, data.most_boxes)
    )
    why = f"The data has {data.num_classes} classes."
    draft.make(class_changes(draft.config, data.num_classes, why))
    draft.notes += data.notes
    return data


def _make_label_map_changes(draft: _Draft, label_map: str, folder: Path) -> None:
    if not find_files(label_map, folder).files:
        raise HoldfastError(f"{label_map} does not exist.", fix="Check the path.")
    path = written_path(label_map, folder)
    number = largest_id(open_label_map(label_map))
    draft.make(label_map_changes(draft.config, path))
    draft.make(class_changes(draft.config, number, f"The label map has {number} classes."))


def _make_anchor_changes(draft: _Draft, seen: Sequence[Observation]) -> RefitAnchors | None:
    if not seen:
        draft.notes.append(NO_DATA)
        return None
    changes, refit = anchor_changes(draft.config, seen)
    if refit is None:
        draft.notes.append(NO_ANCHORS)
    draft.make(changes)
    return refit


def _make_schedule_changes(
    draft: _Draft, wish: AdaptWish, data: AdaptedData | None, predict: PredictPeak
) -> bool:
    """Rescale the training to batch and data; tell whether it fits into the given memory."""
    train = draft.config.train_config or TrainConfig()
    batch, why, fits = wish.batch_size or train.batch_size, "As asked for.", True
    if wish.room_bytes is not None:
        config = draft.config
        found = fit_batch(batch, wish.room_bytes, lambda size: predict(_with_batch(config, size)))
        if found is not None:
            room = bytes_text(wish.room_bytes)
            why = (
                f"The largest that fits into {room}; {batch} would need "
                f"{bytes_text(found.wanted_bytes)} at once."
            )
            batch, fits = found.size, found.fits
            if not fits:
                draft.notes.append(f"Not even a batch of {batch} is predicted to fit into {room}.")
    is_new = data is not None and data.is_new
    images = data.images.get("train") if data is not None else None
    old = None if is_new else images
    pace = wanted_pace(draft.config, images, old, batch)
    changes = [
        replace(each, why=why) if each.path == "train_config.batch_size" else each
        for each in schedule_changes(draft.config, pace)
    ]
    draft.make(changes)
    return fits


def _with_batch(config: TrainEvalPipelineConfig, size: int) -> TrainEvalPipelineConfig:
    train = config.train_config or TrainConfig()
    return config.replace(train_config=train.replace(batch_size=size))


def _alternatives(
    config: TrainEvalPipelineConfig,
    original: TrainEvalPipelineConfig,
    wish: AdaptWish,
    seen: Sequence[Observation],
    refit: RefitAnchors | None,
    predict: PredictPeak,
) -> tuple[Alternative, ...]:
    """Set the adapted config beside networks with a pyramid, and tiles."""
    if not offers_others(config):
        return ()
    assert original.model is not None
    assert config.model is not None
    data = wish.data.locations[0] if wish.data is not None else None
    before = _at_old_resolution(config, original)
    asked = Asked(config=config, before=before, seen=seen, data=data, source=str(wish.config))
    command = ["holdfast", "train", str(wish.out)]
    own = described("as adapted", config, refit.after if refit else None, predict, command)
    on_tiles = tiled(asked, predict)
    return (own, *siblings(asked, predict), *([on_tiles] if on_tiles else []))


def _at_old_resolution(
    config: TrainEvalPipelineConfig, original: TrainEvalPipelineConfig
) -> TrainEvalPipelineConfig:
    """Give the adapted config the resizer and the anchors that it had."""
    assert config.model is not None
    assert original.model is not None
    if config.model.ssd is None or original.model.ssd is None:
        return config
    ssd = config.model.ssd.replace(
        image_resizer=original.model.ssd.image_resizer,
        anchor_generator=original.model.ssd.anchor_generator,
    )
    return config.replace(model=config.model.replace(ssd=ssd))
