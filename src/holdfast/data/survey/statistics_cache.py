"""Statistics kept beside the data, or in the user's cache where the data cannot be written."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from holdfast.config.label_map import class_name
from holdfast.data.records import data_files
from holdfast.data.sources.source import Source
from holdfast.data.sources.tfrecord import RecordLayout
from holdfast.data.survey.observe import Observation, observe_records, observe_source
from holdfast.data.survey.statistics import (
    BoxesPerImage,
    BoxSizes,
    CrowdedImage,
    ImageSizes,
    LeftOut,
    Quantiles,
    Remark,
    Statistics,
    gather,
)
from holdfast.data.survey.stored_observations import (
    FORMAT,
    StoredObservations,
    digest,
    is_protected,
    layout_key,
)
from holdfast.errors import HoldfastError
from holdfast.files import cache_folder

OnEach = Callable[[Observation], None]


def record_statistics(
    record_files: Sequence[str],
    layout: RecordLayout,
    names: Mapping[int, str] | None = None,
    *,
    on_each: OnEach = lambda observation: None,
    use_cache: bool = True,
) -> Statistics:
    """Give the statistics of TFRecord files; read them only if no earlier reading is valid.

    `names` is the label map, id -> name. `on_each` sees every observation while reading. What other
    processes have stored of some files (`stored_observations.py`) is not looked at again.
    """
    if not use_cache:
        return gather(observe_records(record_files, layout, names), on_each=on_each)
    setting = [list(record_files), layout_key(layout), sorted((names or {}).items())]
    folder = posixpath.dirname(record_files[0]) if record_files else ""

    used: list[StoredObservations] = []

    def observations() -> Iterator[Observation]:
        used.append(StoredObservations(record_files, layout, names))
        yield from used[0].observations()

    found = _cached(folder, setting, record_files, observations(), on_each)
    for each in used:
        each.remove()
    return found


def source_statistics(
    source: Source,
    *,
    on_each: OnEach = lambda observation: None,
    use_cache: bool = True,
) -> Statistics:
    """Give the statistics of a data set of any other format, as record_statistics does."""
    observations = observe_source(source)
    if not use_cache or not data_files.exists(source.location):
        return gather(observations, on_each=on_each)
    entries = [(each.source_id, each.place, each.fingerprint) for each in source.entries]
    names = [(item.id, class_name(item)) for item in source.label_map.item]
    setting = [source.format, source.location, names, entries]
    images = [each.image_path for each in source.entries if each.image_path]
    is_folder = data_files.is_folder(source.location)
    folder = source.location if is_folder else posixpath.dirname(source.location)
    return _cached(folder, setting, images, observations, on_each)


def _cached(
    folder: str,
    setting: Any,
    read_files: Sequence[str],
    observations: Iterable[Observation],
    on_each: OnEach,
) -> Statistics:
    name = f".holdfast-statistics-{digest([FORMAT, setting])[:16]}.json"
    stamps = digest([data_files.stamp(file) for file in read_files])
    places = [data_files.join(str(cache_folder()), f"{digest(folder)[:16]}{name}")]
    if not is_protected(folder):
        places.insert(0, data_files.join(folder, name))
    for place in places:
        found = _load(place, stamps)
        if found is not None:
            return found
    statistics = gather(observations, on_each=on_each)
    # Files that were written to while they were read have no valid statistics.
    if stamps == digest([data_files.stamp(file) for file in read_files]):
        _store(places, stamps, statistics)
    return statistics


def _load(place: str, stamps: str) -> Statistics | None:
    """Read what was stored; None if it is not there, of older files, or not readable."""
    try:
        if not data_files.exists(place):
            return None
        document = json.loads(data_files.read_bytes(place))
        return _decoded(document["statistics"]) if document["stamps"] == stamps else None
    except (HoldfastError, ValueError, TypeError, KeyError):
        return None


def _store(places: Iterable[str], stamps: str, statistics: Statistics) -> None:
    document = {"stamps": stamps, "statistics": _encoded(statistics)}
    content = json.dumps(document, separators=(",", ":")).encode()
    for place in places:
        try:
            data_files.write_bytes(place, content)
            return
        except (
            HoldfastError
        ):  # a place that cannot be written; without any, the next run reads again
            continue


def _encoded(statistics: Statistics) -> dict[str, Any]:
    """Give JSON values; sorted sizes as differences, which are short."""
    sizes = np.diff(np.array([0, *statistics.stored_bytes], np.int64)).tolist()
    return asdict(statistics) | {"stored_bytes": sizes}


def _decoded(values: dict[str, Any]) -> Statistics:
    crowds, images, boxes = (values[key] for key in ("boxes_per_image", "image_sizes", "box_sizes"))
    if crowds is not None:
        crowds["worst"] = tuple(CrowdedImage(**each) for each in crowds["worst"])
    changed = {
        "left_out": tuple(LeftOut(**_with_tuples(each)) for each in values["left_out"]),
        "remarks": tuple(Remark(**_with_tuples(each)) for each in values["remarks"]),
        "image_sizes": None if images is None else ImageSizes(**_with_quantiles(images)),
        "box_sizes": None if boxes is None else BoxSizes(**_with_quantiles(boxes)),
        "boxes_per_image": None if crowds is None else BoxesPerImage(**crowds),
        "stored_bytes": np.cumsum(np.array(values["stored_bytes"], np.int64)).tolist(),
        "records_left_out": [tuple(each) for each in values["records_left_out"]],
        "records_merged": [tuple(map(tuple, each)) for each in values["records_merged"]],
    }
    return Statistics(**_with_tuples(values | changed))


def _with_tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(each) if isinstance(each, list) else each for key, each in values.items()}


def _with_quantiles(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: Quantiles(**each) if isinstance(each, dict) else each for key, each in values.items()
    }
