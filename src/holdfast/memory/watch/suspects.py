"""What may be growing in a process: traces, open files, Python's objects, buffers of the input."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, NamedTuple

_FEW = 16  # containers with fewer items are not watched
_LOOKED_AT = 32  # items of a container whose size is taken for that of all
_CONTAINERS = (list, dict, set, deque)


class Cause(NamedTuple):
    """What grows."""

    name: str  # RETRACING, PYTHON, INPUT_BUFFER, OPEN_FILES or UNKNOWN
    detail: str

    @property
    def is_guessed(self) -> bool:
        """Whether it is named because nothing else explains the growth."""
        return self.name in (INPUT_BUFFER, UNKNOWN)


RETRACING = "retracing"
PYTHON = "Python objects"
INPUT_BUFFER = "input buffer"
OPEN_FILES = "open files"
UNKNOWN = "memory outside of Python"


@dataclass(frozen=True, kw_only=True)
class Census:
    """What there is at one moment; counting takes a tenth of a second."""

    step: int
    traces: int  # of the step
    objects: Mapping[str, int]  # by type
    sizes: Mapping[int, int]  # items of each larger container, by its id


def take_census(step: int, traces: int) -> Census:
    """Count the objects that Python's collector knows."""
    objects = gc.get_objects()
    counts = Counter(map(type, objects))
    return Census(
        step=step,
        traces=traces,
        objects={_type_name(kind): count for kind, count in counts.items()},
        sizes={id(each): len(each) for each in objects if _is_large(each)},
    )


@dataclass
class Shapes:
    """The shapes that each argument of the step has had."""

    seen: dict[str, list[tuple[int, ...]]] = field(default_factory=dict)

    def add(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Note the shapes of one batch."""
        for name, shape in shapes.items():
            known = self.seen.setdefault(name, [])
            if shape not in known:
                known.append(shape)

    def changing(self) -> Iterator[str]:
        """Say of each argument that changes which shapes it had."""
        for name, shapes in self.seen.items():
            if len(shapes) > 1:
                texts = [" x ".join(map(str, shape)) or "scalar" for shape in shapes]
                rest = f", … ({len(texts)} in all)" if len(texts) > 3 else ""
                yield f"{name}: {', '.join(texts[:3])}{rest}"


def find_cause(
    before: Census, after: Census, grown_bytes: float, shapes: Shapes, buffers: Sequence[str]
) -> Cause:
    """Name what grew between two moments, by how much of the growth it explains.

    buffers: what the input keeps, in words. What nothing in Python explains is laid to it.
    """
    traces = after.traces - before.traces
    if traces >= 2:
        changing = "; ".join(shapes.changing()) or "an argument that is no tensor"
        return Cause(RETRACING, f"{traces} new traces of the step; what changes is {changing}")
    explained, detail = _growing_objects(before, after)
    if explained >= grown_bytes / 4:
        return Cause(PYTHON, detail)
    if buffers:
        return Cause(INPUT_BUFFER, f"the input keeps {', '.join(buffers)}")
    return Cause(UNKNOWN, "no Python object, no trace and no buffer of the input explains it")


def open_file_count() -> int:
    """Count the file handles of this process; 0 where the system does not say."""
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return 0


def input_buffers(iterator: Any) -> tuple[str, ...]:
    """Say what the data set behind an iterator keeps; () if it is not known."""
    return tuple(dict.fromkeys(text for each in _datasets(iterator) for text in _kept_by(each)))


def _datasets(iterator: Any) -> Iterator[Any]:
    """Find the data sets behind an iterator, also behind one that is spread over devices."""
    for name in ("_dataset", "_iterator", "_iterators", "_multi_device_iterator"):
        found = getattr(iterator, name, None)
        for each in found if isinstance(found, list | tuple) else [found]:
            if name == "_dataset" and each is not None:
                yield each
            elif each is not None:
                yield from _datasets(each)


def _kept_by(dataset: Any) -> Iterator[str]:
    kind = type(dataset).__name__.lower()
    size = getattr(dataset, "_buffer_size", None)
    if "cache" in kind:
        yield "a cache, which grows until the data set ends"
    elif "shuffle" in kind and size is not None:
        yield f"a shuffle buffer of {int(size)} records"
    inputs = getattr(dataset, "_inputs", None)
    for each in inputs() if callable(inputs) else ():
        yield from _kept_by(each)


def _growing_objects(before: Census, after: Census) -> tuple[float, str]:
    """Give the bytes that Python's objects explain, and name those that explain most."""
    steps = max(1, after.step - before.step)
    found = [*_growing_containers(before, after), *_growing_types(before, after)]
    telling = [each for each in found if each.items >= steps / 4]
    telling.sort(key=lambda each: -each.bytes)
    # A container and what is in it are the same memory: the largest alone counts.
    return (telling[0].bytes, telling[0].text) if telling else (0.0, "")


class _Growing(NamedTuple):
    items: int
    bytes: float
    text: str


def _growing_containers(before: Census, after: Census) -> Iterator[_Growing]:
    grown = {
        identity: size - before.sizes.get(identity, 0)
        for identity, size in after.sizes.items()
        if size > before.sizes.get(identity, 0)
    }
    objects = {id(each): each for each in gc.get_objects() if id(each) in grown}
    for identity, container in objects.items():
        # A new object at the place of an old one is no growth.
        if identity in before.sizes and isinstance(container, _CONTAINERS):
            items, count = _sample(container), grown[identity]
            size = sum(map(_bytes_of, items)) / max(1, len(items))
            kinds = Counter(_type_name(type(item)) for item in items).most_common(1)
            kind = kinds[0][0] if kinds else "nothing"
            name = f"{_type_name(type(container))} {_holder(container)}"
            yield _Growing(count, count * size, f"{name} grew by {count} items of {kind}")


def _growing_types(before: Census, after: Census) -> Iterator[_Growing]:
    for name, count in after.objects.items():
        more = count - before.objects.get(name, 0)
        if more > 0:
            yield _Growing(more, more * 64.0, f"{more} more objects of type {name}")


def _is_large(each: Any) -> bool:
    return type(each) in _CONTAINERS and len(each) >= _FEW


def _sample(container: Any) -> list[Any]:
    """Give the items that came last, of a dict its values."""
    values = list(container.values() if isinstance(container, dict) else container)
    return values[-_LOOKED_AT:]


def _bytes_of(item: Any) -> int:
    """Give an item's size, with what it holds directly and with the numbers of an array."""
    numbers = getattr(item, "nbytes", None)
    own = sys.getsizeof(item, 0) + (int(numbers) if isinstance(numbers, int) else 0)
    if isinstance(item, list | tuple | set | deque):
        return own + sum(map(_bytes_of, list(item)[:_LOOKED_AT]))
    if isinstance(item, dict):
        return own + sum(map(_bytes_of, list(item.values())[:_LOOKED_AT]))
    if not isinstance(item, str | bytes | int | float) and hasattr(item, "numpy"):
        return own + int(getattr(item.numpy(), "nbytes", 0))
    return own


def _holder(container: Any) -> str:
    """Name the module or class, and the name under which it holds the container."""
    for referrer in gc.get_referrers(container):
        if not isinstance(referrer, dict):
            if isinstance(getattr(referrer, "__dict__", None), dict) and not isinstance(
                referrer, ModuleType
            ):
                for name, value in vars(referrer).items():
                    if value is container:
                        return f"{type(referrer).__name__}.{name}"
            continue
        for name, value in list(referrer.items()):
            if value is container and isinstance(name, str) and name.isidentifier():
                place = referrer.get("__name__")
                owner = place if isinstance(place, str) else _owner(referrer)
                return f"{owner}.{name}" if owner else name
    return "that nothing names"


def _owner(attributes: dict[Any, Any]) -> str:
    for referrer in gc.get_referrers(attributes):
        if getattr(referrer, "__dict__", None) is attributes:
            return type(referrer).__name__
    return ""


def _type_name(kind: type) -> str:
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
