"""Images that were written in several records, such as one for each box: their objects joined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import tensorflow as tf

from holdfast.data.records.record_files import read_records

MERGED = "merged/"  # before the keys of joined lists, which are taken instead of the record's own
OBJECT_KEYS = "image/object/"

Place = tuple[str, int]  # a file, and the number of a record in it


def merged_objects(pairs: Iterable[tuple[Place, Place]]) -> dict[Place, bytes]:
    """Join the objects of records that show one image; pairs: a record, and the first of its image.

    Gives for each first record a serialized example of all its objects to be put behind it. The
    files are read once more; of the records none but the lists of their objects is kept.
    """
    groups: dict[Place, list[Place]] = {}
    for place, first in pairs:
        groups.setdefault(first, [first]).append(place)
    wanted = {place for group in groups.values() for place in group}
    objects = {
        (file, number): _objects(record)
        for file in sorted({file for file, _ in wanted})
        for number, record in enumerate(read_records(file))
        if (file, number) in wanted
    }
    return {
        first: _joined([objects[place] for place in group]).SerializeToString()
        for first, group in groups.items()
    }


def box_keys(
    boxes: np.ndarray, texts: Sequence[bytes], numbers: Sequence[int]
) -> tuple[bytes, ...]:
    """Say what tells each box (N, 4) of a record from the others of its image: place and class."""
    texts = texts if len(texts) else [b""] * len(boxes)
    numbers = numbers if len(numbers) else [0] * len(boxes)
    rows = np.asarray(boxes, np.float32)
    return tuple(
        row.tobytes() + bytes(text) + b"\0" + str(int(number)).encode()
        for row, text, number in zip(rows, texts, numbers, strict=True)
    )


Lists = dict[str, tf.train.Feature]  # of a record, by key: those of its objects


def _objects(record: bytes) -> Lists:
    features = tf.train.Example.FromString(record).features.feature
    return {key: each for key, each in features.items() if key.startswith(OBJECT_KEYS)}


def _joined(records: Sequence[Lists]) -> tf.train.Example:
    """Join lists that every record with objects has; of a box that repeats only the first stays."""
    seen: set[bytes] = set()
    rows: list[list[int]] = []
    for lists in records:
        keys = _keys(lists)
        rows.append([index for index, key in enumerate(keys) if key not in seen])
        seen.update(keys)
    used = [(lists, chosen) for lists, chosen in zip(records, rows, strict=True) if chosen]
    example = tf.train.Example()
    for key in sorted(set.intersection(*(set(lists) for lists, _ in used))):
        _join(example.features.feature[MERGED + key], key, used)
    return example


def _join(
    target: tf.train.Feature, key: str, records: Sequence[tuple[Lists, Sequence[int]]]
) -> None:
    """Append the entries of the chosen boxes; a list may hold several for each box."""
    for lists, chosen in records:
        kind = lists[key].WhichOneof("kind")
        values = getattr(lists[key], kind).value if kind else ()
        each, rest = divmod(len(values), len(_keys(lists)))
        if rest or not each:  # of no use beside the boxes
            target.Clear()
            return
        for index in chosen:
            getattr(target, kind).value.extend(values[index * each : (index + 1) * each])


def _keys(lists: Lists) -> tuple[bytes, ...]:
    sides = [
        lists[f"{OBJECT_KEYS}bbox/{side}"].float_list.value if lists else ()
        for side in ("ymin", "xmin", "ymax", "xmax")
    ]
    texts, numbers = (lists.get(f"{OBJECT_KEYS}class/{what}") for what in ("text", "label"))
    return box_keys(
        np.array(sides, np.float32).T,
        texts.bytes_list.value if texts else (),
        numbers.int64_list.value if numbers else (),
    )
