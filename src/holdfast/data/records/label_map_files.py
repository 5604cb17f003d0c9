"""Label maps where the records are: here, or behind a URL."""

from __future__ import annotations

from holdfast.config.label_map import load_label_map, parse_label_map
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.records import data_files


def open_label_map(path: str) -> StringIntLabelMap:
    """Read a label map, local or remote; ConfigError lists what makes it unusable."""
    path = data_files.expand(path)
    if data_files.is_remote(path):
        return parse_label_map(data_files.read_bytes(path), path)
    return load_label_map(path)
