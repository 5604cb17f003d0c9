"""Tell which labeling tool wrote a file from its first bytes."""

from __future__ import annotations

import re

from holdfast.data.sources.json_keys import ITEM, KeyPath, key_paths
from holdfast.data.sources.sniff import head, xml_root

_CVAT_ELEMENT = re.compile(rb"<(image|track|meta)[\s>]")
_VIA_CSV = re.compile(rb"^[#\"]*filename\b.*\bregion_shape_attributes\b", re.IGNORECASE)
_REGION_LABELS = (
    *("rectanglelabels", "polygonlabels", "ellipselabels", "keypointlabels", "brushlabels"),
    "original_width",
)


def is_cvat(path: str) -> bool:
    """Tell whether an XML file is CVAT's, for images or for video."""
    start = head(path)
    return xml_root(start) == b"annotations" and _CVAT_ELEMENT.search(start) is not None


def is_via(path: str) -> bool:
    """Tell whether a JSON or CSV file is a project or an export of the VGG Image Annotator."""
    if path.lower().endswith(".csv"):
        return _VIA_CSV.match(head(path).partition(b"\n")[0]) is not None
    keys = key_paths(path)
    if ("_via_img_metadata",) in keys:
        return True
    images = {key[0] for key in keys if len(key) == 2 and key[1] == "regions"}
    return any((image, "filename") in keys for image in images)


def is_label_studio(path: str) -> bool:
    """Tell whether a JSON file holds tasks of Label Studio, in full or as JSON-MIN."""
    keys = key_paths(path)
    if ("result",) in keys and ("task", "data") in keys:
        return True
    for task in ((ITEM,), ()):
        if any((*task, name, ITEM, "result") in keys for name in ("annotations", "completions")):
            return True
        if {(*task, "data"), (*task, "annotations", ITEM)} <= keys:
            return True
    return any(_is_min_region(key) for key in keys)


def is_createml(path: str) -> bool:
    """Tell whether a JSON file lists images with the boxes of CreateML."""
    keys = key_paths(path)
    lists = [(ITEM, name, ITEM) for name in ("annotations", "annotation")]
    if any((*boxes, "coordinates") in keys for boxes in lists):
        return True
    named = any((ITEM, name) in keys for name in ("image", "imagefilename"))
    return named and any(boxes in keys for boxes in lists) and (ITEM, "data") not in keys


def is_supervisely(path: str) -> bool:
    """Tell whether a JSON file holds the objects of one image in Supervisely's manner."""
    keys = key_paths(path)
    if ("frames",) in keys:  # a video
        return False
    for outside in ((), ("annotation",)):
        needed = {(*outside, "objects", ITEM), (*outside, "size", "width")}
        if needed <= keys or (*outside, "objects", ITEM, "classTitle") in keys:
            return True
    return False


def _is_min_region(key: KeyPath) -> bool:
    return len(key) == 4 and key[0] == key[2] == ITEM and key[3] in _REGION_LABELS
