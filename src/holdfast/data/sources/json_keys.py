"""Tell what a JSON file is made of from its first bytes, without parsing it whole."""

from __future__ import annotations

import json
import re
from functools import lru_cache

from holdfast.data.records import data_files

KeyPath = tuple[str, ...]  # keys from the outside in; ITEM where a list lies between
ITEM = "[]"

_HEAD_BYTES = 64 * 1024
_DEEPEST = 6
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{},:]|[^\s\[\]{},:"]+|"', re.DOTALL)


def key_paths(path: str) -> frozenset[KeyPath]:
    """Give the ways to all keys in the first bytes of a file; a list alone gives `("[]",)`.

    A file that is not JSON gives whatever keys it seems to have. Of a list of images with their
    boxes, as CreateML writes it, one way is `("[]", "annotations", "[]", "label")`.
    """
    return _key_paths(path, data_files.stamp(path))


@lru_cache(maxsize=512)
def _key_paths(path: str, stamp: data_files.Stamp | None) -> frozenset[KeyPath]:
    """Keep what was found: every format asks the same of the same files."""
    head = data_files.read_bytes(path, _HEAD_BYTES)
    return frozenset(_scan(head.decode(json.detect_encoding(head), errors="replace")))


def _scan(text: str) -> set[KeyPath]:
    found: set[KeyPath] = set()
    way: list[str] = []  # for each open container: ITEM, or the key that was read last
    last = ""
    for token in (one[0] for one in _TOKEN.finditer(text)):
        match token:
            case '"':  # a text that continues after the first bytes
                break
            case "[" | "{":
                way.append(ITEM if token == "[" else "")
                if token == "[" and len(way) <= _DEEPEST:
                    found.add(tuple(way))
            case "]" | "}":
                if way:
                    way.pop()
            case ":" if way and last.startswith('"'):
                way[-1] = last[1:-1]
                if len(way) <= _DEEPEST:
                    found.add(tuple(way))
            case _:
                last = token
    return found
