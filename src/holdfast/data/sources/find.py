"""Open a data set: its format is told, or found from what lies in the folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from holdfast.data import files
from holdfast.data.sources.coco import open_coco
from holdfast.data.sources.labelme import open_labelme
from holdfast.data.sources.lookup import is_image
from holdfast.data.sources.sniff import is_coco, is_labelme, is_voc, is_yolo
from holdfast.data.sources.source import Source
from holdfast.data.sources.synthetic import open_synthetic
from holdfast.data.sources.voc import open_voc
from holdfast.data.sources.yolo import open_yolo
from holdfast.data.sources.yolo_layout import label_paths
from holdfast.data.sources.yolo_settings import read_settings
from holdfast.errors import HoldfastError, nearest

FORMATS = ("coco", "voc", "yolo", "labelme", "synthetic")
# Enough to meet an annotation among files that are none; not all of a million.
_LOOKED_AT = 100


def open_source(
    location: str, *, format_name: str | None = None, masks: bool = True, seed: int = 0
) -> Source:
    """Open a data set of any format.

    location is a folder, a COCO JSON file or a YOLO data.yaml; for synthetic data the number of
    images and their size, such as `500@320`, made from the seed.
    """
    location = files.expand(location).rstrip("/") or "/"
    if format_name != "synthetic":
        _refuse_missing(location)
    match format_name or find_format(location):
        case "coco":
            return open_coco(location, masks=masks)
        case "voc":
            return open_voc(location)
        case "yolo":
            return open_yolo(location, masks=masks)
        case "labelme":
            return open_labelme(location, masks=masks)
        case "synthetic":
            return open_synthetic(location, seed=seed, masks=masks)
        case unknown:
            meant = nearest(unknown, FORMATS)
            fix = f"Did you mean {meant[0]}?" if meant else f"Known: {', '.join(FORMATS)}."
            raise HoldfastError(f"There is no format {unknown!r}.", fix=fix)


def find_format(location: str) -> str:
    """Tell the format of a data set from its files; HoldfastError if there is no telling."""
    found = _formats_of_folder(location) if files.is_folder(location) else _format_of_file(location)
    if len(found) > 1:
        raise HoldfastError(
            f"{location} holds annotations of more than one format: {' and '.join(found)}.",
            fix=f"Say which to read: --format {' or --format '.join(found)}.",
        )
    if not found:
        raise HoldfastError(
            f"{location} holds no annotations that Holdfast knows.",
            fix="Looked for COCO and LabelMe (.json), Pascal VOC (.xml) and YOLO (.txt beside the "
            "images, or in `labels` where the images are in `images`).",
        )
    return found[0]


def _refuse_missing(location: str) -> None:
    if not files.exists(location):
        raise HoldfastError(f"{location} does not exist.", fix="Give the folder of the data set.")


def _format_of_file(path: str) -> list[str]:
    if path.lower().endswith(".json"):
        return ["coco"] if is_coco(path) else []
    return ["yolo"] if path.lower().endswith((".yaml", ".yml")) else []


def _formats_of_folder(folder: str) -> list[str]:
    paths = list(files.walk(folder))
    json = _ending(paths, ".json")
    signs: dict[str, tuple[Sequence[str], Callable[[str], bool]]] = {
        "coco": (json, is_coco),
        "voc": (_ending(paths, ".xml"), is_voc),
        "yolo": (_label_files(paths), is_yolo),
        "labelme": (json, is_labelme),
    }
    found = [
        name
        for name, (candidates, test) in signs.items()
        if any(test(files.join(folder, path)) for path in _spread(candidates))
    ]
    if not found and read_settings(folder).path:
        return ["yolo"]
    return found


def _ending(paths: Iterable[str], ending: str) -> list[str]:
    return [path for path in paths if path.lower().endswith(ending)]


def _label_files(paths: Sequence[str]) -> list[str]:
    """Keep the text files that lie where an image's YOLO labels would."""
    places = {place for path in paths if is_image(path) for place in label_paths(path)}
    return [path for path in paths if path in places]


def _spread(paths: Sequence[str]) -> Sequence[str]:
    """Choose a bounded number of files from all over the list."""
    return paths[:: max(1, len(paths) // _LOOKED_AT)]
