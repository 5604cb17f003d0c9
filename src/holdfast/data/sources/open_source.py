"""Open a data set: its format is told, or found from what lies in the folder."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from holdfast.data.records import data_files
from holdfast.data.sources.source import Entry, Source
from holdfast.data.sources.source_formats import (
    DEFAULTS,
    FORMATS,
    Format,
    OpenOptions,
    formats_from_outside,
    load_formats,
)
from holdfast.errors import HoldfastError
from holdfast.units import count_text

# Enough to meet an annotation among files that are none; not all of a million.
_LOOKED_AT = 100
_ENDINGS_NAMED = 6
_ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z", ".rar")


def open_source(
    location: str,
    *,
    format_name: str | None = None,
    masks: bool = True,
    seed: int = 0,
    images: str | None = None,
) -> Source:
    """Open a data set of any format.

    location is a folder or a single annotation file (a COCO JSON, a CSV, a YOLO data.yaml, …); for
    synthetic data the number of images and their size, such as `500@320`, made from the seed.
    images is the folder of the images, where it is not that of the annotations.
    """
    location = data_files.expand(location).rstrip("/") or "/"
    options = OpenOptions(masks=masks, seed=seed, images=images)
    formats = load_formats()
    if format_name is None:
        choice = _choose(location, _found(location, formats), options)
        source = choice.source or choice.format.open(location, options)
        return replace(source, notes=(*choice.notes, *source.notes))
    chosen = FORMATS[format_name]
    if format_name != "synthetic":
        _refuse_missing(location)
    return chosen.open(location, options)


def find_format(location: str) -> str:
    """Tell the format of a data set from its files; HoldfastError if that is not possible."""
    return _choose(location, _found(location, load_formats()), DEFAULTS).format.name


def is_archive(path: str) -> bool:
    """Tell by its ending whether a file is an archive of others; records may end in .gz, too."""
    return path.lower().endswith(_ARCHIVES)


def holds_annotations(location: str) -> bool:
    """Tell whether there are annotations of any format."""
    try:
        return bool(_found(location, load_formats()))
    except HoldfastError:
        return False


class _Choice(NamedTuple):
    """The format to read, opened already if that was needed to choose."""

    format: Format
    source: Source | None = None
    notes: tuple[str, ...] = ()


# Image -> class name -> objects, for every image of the folder that is annotated.
_Annotated = Mapping[str, Mapping[str, int]]


def _found(location: str, formats: Sequence[Format]) -> list[Format]:
    """Give the formats whose annotations are in a folder, or in a file."""
    _refuse_missing(location)
    if data_files.is_folder(location):
        root, paths = location, list(data_files.walk(location))
    else:
        root, name = posixpath.split(location)
        paths = [name]

    def matching(formats: Sequence[Format]) -> list[Format]:
        return [
            one
            for one in formats
            if any(
                one.is_one(data_files.join(root, path)) for path in _spread(one.candidates(paths))
            )
        ]

    found = matching(formats) or matching(formats_from_outside())
    if not found and (archive := next(filter(is_archive, paths), None)):
        raise HoldfastError(
            f"{location} holds no annotations, only the archive {archive}."
            if data_files.is_folder(location)
            else f"{location} is an archive.",
            fix="Unpack it, and give the folder that comes out.",
        )
    if not found:
        raise HoldfastError(
            f"{location} holds no annotations in a format that Holdfast knows.",
            fix=f"Looked for {', '.join(one.title for one in formats if one.name != 'synthetic')}."
            f" Found {_describe(paths)}.",
        )
    return found


def _choose(location: str, found: Sequence[Format], options: OpenOptions) -> _Choice:
    """Choose the format that annotates most images; those of equal content are the same to us."""
    if len(found) == 1:
        return _Choice(found[0])
    sources = {one.name: _open(one, location, options) for one in found}
    annotated = {name: _annotated(source) for name, source in sources.items()}
    most = max(map(len, annotated.values()))
    best = [one for one in found if len(annotated[one.name]) == most]
    same = all(annotated[one.name] == annotated[best[0].name] for one in best)
    if most == 0 or not same:
        _refuse_tie(location, best, most)
    # Equal content: the one that knows the splits says more, then the one named first.
    chosen = min(best, key=lambda one: not _has_splits(sources[one.name]))
    notes = [
        f"{one.title} files are there too, and are ignored: they annotate "
        + (
            "the same images alike."
            if one in best
            else f"{len(annotated[one.name])} of the images, {chosen.title} {most}."
        )
        for one in found
        if one is not chosen
    ]
    return _Choice(chosen, sources[chosen.name], tuple(notes))


def _open(one: Format, location: str, options: OpenOptions) -> Source | None:
    try:
        return one.open(location, options)
    except HoldfastError:  # annotates nothing; if it is the only one, its opener is asked again
        return None


def _annotated(source: Source | None) -> _Annotated:
    """Gather what a source says about images that are there and have objects."""
    if source is None:
        return {}
    names = {item.id - 1: item.name for item in source.label_map.item}
    return {
        entry.image_path or entry.place: {
            names.get(number, str(number)): count for number, count in entry.class_counts.items()
        }
        for entry in source.entries
        if entry.class_counts and _has_image(entry)
    }


def _has_image(entry: Entry) -> bool:
    """Tell whether the image is there: as a file, or inside of the annotation."""
    if entry.image_path:
        return True
    try:
        entry.read()
    except HoldfastError:
        return False
    return True


def _has_splits(source: Source | None) -> bool:
    return source is not None and any(entry.split for entry in source.entries)


def _refuse_missing(location: str) -> None:
    if not data_files.exists(location):
        raise HoldfastError(f"{location} does not exist.", fix="Give the folder of the data set.")


def _refuse_tie(location: str, found: Sequence[Format], images: int) -> None:
    names = [one.name for one in found]
    each = f", each of {count_text(images, 'image')}" if images else ""
    raise HoldfastError(
        f"{location} holds annotations of more than one format: {' and '.join(names)}{each}.",
        fix=f"Choose one with --format {' or --format '.join(names)}.",
    )


def _describe(paths: Sequence[str]) -> str:
    """Count files by their ending: `12 .jpg, 3 .docx`."""
    endings = Counter(posixpath.splitext(path)[1].lower() or "without ending" for path in paths)
    named = [f"{count} {name}" for name, count in endings.most_common(_ENDINGS_NAMED)]
    more = [f"{len(endings) - len(named)} other kinds"] if len(endings) > len(named) else []
    return ", ".join([*named, *more]) or "no file at all"


def _spread(paths: Sequence[str]) -> Sequence[str]:
    """Choose a bounded number of files from all over the list."""
    return paths[:: max(1, len(paths) // _LOOKED_AT)]
