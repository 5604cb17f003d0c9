"""TensorFlow's allocator for large tensors: it takes memory from the system and gives none back.

What counts is not what is alive but what was ever touched. The rules are those of "best fit with
coalescing": a free chunk of the smallest fitting class is taken, and split if it is twice as large
as needed; neighbors that are free become one; each new region is twice the last one.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

ROUNDING = 256  # bytes: every chunk is a multiple of this
PAGE = 4096
_FIRST_REGION = 2 << 20
_LARGEST_WASTE = 128 << 20  # a chunk with this much to spare is split even if not twice as large


class Chunk:
    """A piece of a region."""

    __slots__ = ("bytes", "is_free", "next", "previous", "start")

    def __init__(self, start: int, size: int) -> None:
        self.start = start
        self.bytes = size
        self.is_free = True
        self.previous: Chunk | None = None
        self.next: Chunk | None = None


class Arena:
    """The memory held for large tensors, in simulation."""

    def __init__(self) -> None:
        self._bins: dict[int, list[tuple[int, int]]] = {}  # class -> (bytes, start) of free chunks
        self._chunks: dict[int, Chunk] = {}  # by start
        self._region_bytes = _FIRST_REGION
        self._next_region = 0
        self._touched = _Touched()
        self.reserved_bytes = 0

    @property
    def touched_bytes(self) -> int:
        """How much memory was ever written to."""
        return self._touched.bytes

    def allocate(self, size: int) -> Chunk:
        """Take memory and write to it; give the chunk to free it by."""
        chunk = self._take(size)
        self._touched.add(chunk.start, chunk.start + size)
        return chunk

    def reserve(self, size: int) -> None:
        """Have so much in one piece, without writing to it."""
        if size:
            self.free(self._take(size))

    def free(self, chunk: Chunk) -> None:
        """Give memory back to the arena."""
        chunk.is_free = True
        following, before = chunk.next, chunk.previous
        if following is not None and following.is_free:
            self._remove(following)
            self._join(chunk, following)
        if before is not None and before.is_free:
            self._remove(before)
            self._join(before, chunk)
            chunk = before
        self._insert(chunk)

    def _take(self, size: int) -> Chunk:
        rounded = -(-size // ROUNDING) * ROUNDING
        chunk = self._find(rounded)
        if chunk is None:
            self._extend(rounded)
            chunk = self._find(rounded)
        assert chunk is not None
        return chunk

    def _find(self, rounded: int) -> Chunk | None:
        first = _bin(rounded)
        for number in sorted(each for each in self._bins if each >= first):
            free = self._bins[number]
            position = bisect_left(free, (rounded, -1))
            if position < len(free):
                chunk = self._chunks[free[position][1]]
                self._remove(chunk)
                chunk.is_free = False
                if chunk.bytes >= 2 * rounded or chunk.bytes - rounded >= _LARGEST_WASTE:
                    self._split(chunk, rounded)
                return chunk
        return None

    def _extend(self, rounded: int) -> None:
        grows_first = rounded > self._region_bytes
        while rounded > self._region_bytes:
            self._region_bytes *= 2
        size = self._region_bytes
        if not grows_first:
            self._region_bytes *= 2
        chunk = Chunk(self._next_region, size)
        # Regions do not touch each other: chunks of two are never joined.
        self._next_region += size + PAGE
        self.reserved_bytes += size
        self._chunks[chunk.start] = chunk
        self._insert(chunk)

    def _split(self, chunk: Chunk, size: int) -> None:
        rest = Chunk(chunk.start + size, chunk.bytes - size)
        rest.previous, rest.next = chunk, chunk.next
        if chunk.next is not None:
            chunk.next.previous = rest
        chunk.next, chunk.bytes = rest, size
        self._chunks[rest.start] = rest
        self._insert(rest)

    def _join(self, first: Chunk, second: Chunk) -> None:
        first.bytes += second.bytes
        first.next = second.next
        if second.next is not None:
            second.next.previous = first
        del self._chunks[second.start]

    def _insert(self, chunk: Chunk) -> None:
        insort(self._bins.setdefault(_bin(chunk.bytes), []), (chunk.bytes, chunk.start))

    def _remove(self, chunk: Chunk) -> None:
        number = _bin(chunk.bytes)
        free = self._bins[number]
        del free[bisect_left(free, (chunk.bytes, chunk.start))]
        if not free:
            del self._bins[number]


class _Touched:
    """The pages that were ever written to."""

    def __init__(self) -> None:
        self._spans: list[tuple[int, int]] = []  # sorted, apart from each other
        self.bytes = 0

    def add(self, start: int, end: int) -> None:
        start, end = start // PAGE * PAGE, -(-end // PAGE) * PAGE
        first = bisect_left(self._spans, (start, start))
        if first and self._spans[first - 1][1] >= start:
            first -= 1
        last = first
        while last < len(self._spans) and self._spans[last][0] <= end:
            old_start, old_end = self._spans[last]
            start, end = min(start, old_start), max(end, old_end)
            self.bytes -= old_end - old_start
            last += 1
        self._spans[first:last] = [(start, end)]
        self.bytes += end - start

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._spans)


def _bin(size: int) -> int:
    return (size // ROUNDING).bit_length() - 1
