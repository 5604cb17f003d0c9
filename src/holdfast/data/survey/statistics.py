"""What is in a data set, gathered in one pass over its images."""

from __future__ import annotations

import heapq
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from holdfast.data.records.merged_records import Place
from holdfast.data.survey.box_validity import Reason
from holdfast.data.survey.observe import Observation, repeated_images_merged

EXAMPLES = 5  # places named for each reason
WORST = 5  # images named for having most boxes
SQUARE_TOLERANCE = 0.02  # of the longer side


@dataclass(frozen=True, kw_only=True)
class Quantiles:
    """How numbers are spread."""

    minimum: float
    percent_5: float
    percent_25: float
    median: float
    percent_75: float
    percent_95: float
    maximum: float


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """What is left out for one reason."""

    reason: str
    images: int  # left out as a whole
    boxes: int
    images_affected: int  # images left out, or with boxes left out
    examples: tuple[str, ...]  # places


@dataclass(frozen=True, kw_only=True)
class Remark:
    """Something worth knowing about images that are kept."""

    text: str
    images: int
    examples: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ImageSizes:
    """Sizes of the images, in pixels; None without any image."""

    height: Quantiles
    width: Quantiles
    aspect_ratio: Quantiles  # width / height
    portrait: int
    landscape: int
    square: int


@dataclass(frozen=True, kw_only=True)
class BoxSizes:
    """Sizes of the boxes that are kept, of the image (0..1) and in pixels."""

    height: Quantiles
    width: Quantiles
    height_pixels: Quantiles
    width_pixels: Quantiles
    aspect_ratio: Quantiles  # width / height, in pixels


@dataclass(frozen=True, kw_only=True)
class CrowdedImage:
    """One of the images with most boxes."""

    place: str
    source_id: str
    boxes: int


@dataclass(frozen=True, kw_only=True)
class BoxesPerImage:
    """How many boxes that are kept an image has."""

    mean: float
    median: float
    maximum: int
    without: int  # images without any box
    worst: tuple[CrowdedImage, ...]  # most boxes first


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """All that is known about a data set after looking at every image once.

    Boxes kept and left out are all boxes as written, and so are images, but for records that are
    merged into an image that was there before.
    """

    images: int
    boxes: int
    classes: dict[str, int]  # name or id -> boxes; the most frequent first
    unknown_classes: dict[str, int] = field(default_factory=dict)  # that the label map lacks
    left_out: tuple[LeftOut, ...] = ()
    remarks: tuple[Remark, ...] = ()
    clipped: int = 0  # boxes whose part outside of the image was cut off
    image_sizes: ImageSizes | None = None
    box_sizes: BoxSizes | None = None
    boxes_per_image: BoxesPerImage | None = None
    pixel_mean: tuple[float, ...] = ()  # red, green, blue, 0..255; each image counts alike
    pixel_deviation: tuple[float, ...] = ()
    largest_image_bytes: int = 0  # decoded, 3 bytes a pixel
    largest_image: str = ""  # its place and id
    stored_bytes: tuple[int, ...] = field(default=(), repr=False)  # of each record kept, sorted
    records_left_out: tuple[Place, ...] = ()  # whole images
    records_merged: tuple[tuple[Place, Place], ...] = ()  # each with the first record of its image

    @property
    def records_skipped(self) -> frozenset[Place]:
        """The records without an image of their own: left out, or merged into another."""
        return frozenset((*self.records_left_out, *(place for place, _ in self.records_merged)))

    @property
    def boxes_left_out(self) -> int:
        """Count the boxes left out for any reason."""
        return sum(each.boxes for each in self.left_out)

    @property
    def images_left_out(self) -> int:
        """Count the images left out as a whole."""
        return sum(each.images for each in self.left_out)


def gather(
    observations: Iterable[Observation],
    *,
    on_each: Callable[[Observation], None] = lambda observation: None,
) -> Statistics:
    """Make the statistics of a data set; `on_each` sees every observation, repeats marked."""
    books = _Books()
    for observation in repeated_images_merged(observations):
        on_each(observation)
        books.enter(observation)
    return books.statistics()


def describe(observation: Observation) -> str:
    """Name an image: its place, and its id if that says more."""
    identity = observation.source_id
    named = f"{observation.place} ({identity})" if identity else observation.place
    return f"{named}: {observation.detail}" if observation.detail else named


class _Books:
    """The account of one pass: 16 bytes a box, and a few numbers and the id of each image."""

    def __init__(self) -> None:
        self.classes: Counter[str] = Counter()
        self.unknown_classes: Counter[str] = Counter()
        self.clipped = 0
        self.left_out = _LeftOutBooks()
        self.remarks: defaultdict[str, list[int | str]] = defaultdict(lambda: [0])
        self.sizes, self.counts, self.stored = array("q"), array("q"), array("q")
        self.boxes = array("f")  # height, width, height in pixels, width in pixels; of each box
        self.crowded: list[tuple[int, int, CrowdedImage]] = []
        self.largest_pixels, self.largest_image = 0, ""
        self.mean, self.square_mean = np.zeros(3), np.zeros(3)
        self.contents: dict[str, bytes] = {}
        self.records_left_out: list[Place] = []
        self.records_merged: list[tuple[Place, Place]] = []

    def enter(self, seen: Observation) -> None:
        self.left_out.enter(seen)
        if seen.reason is not Reason.KEPT:
            self.records_left_out += [seen.record] if seen.record else []
            return
        if seen.merged_into is not None and seen.record is not None:
            self.records_merged.append((seen.record, seen.merged_into.record))
            self._enter_boxes(seen, seen.merged_into.image)
            return
        self._enter_image(seen)
        self.counts.append(0)
        self._enter_boxes(seen, len(self.counts) - 1)
        for text in (*seen.remarks, *self._identity_remarks(seen)):
            self._remark(text, seen)

    def _enter_image(self, seen: Observation) -> None:
        self.sizes.extend((seen.height, seen.width))
        if seen.height * seen.width > self.largest_pixels:
            self.largest_pixels, self.largest_image = seen.height * seen.width, describe(seen)
        self.stored.append(seen.stored_bytes)
        self.mean += seen.pixel_mean
        self.square_mean += seen.pixel_square_mean

    def _enter_boxes(self, seen: Observation, image: int) -> None:
        """Add boxes to those of an image that is entered already."""
        self.counts[image] += len(seen.boxes)
        self.classes.update(seen.class_names)
        self.unknown_classes.update(seen.unknown_classes)
        self.clipped += seen.clipped
        sizes = seen.boxes[:, 2:] - seen.boxes[:, :2]  # (N, 2)
        pixels = sizes * np.array([seen.height, seen.width], np.float32)
        self.boxes.frombytes(np.hstack([sizes, pixels]).astype(np.float32).tobytes())
        self._note_crowd(seen, image)

    def _note_crowd(self, seen: Observation, image: int) -> None:
        """Keep the images with most boxes, each with the place of its last record."""
        count = self.counts[image]
        if not count:
            return
        if seen.merged_into is not None:
            self.crowded = [each for each in self.crowded if each[1] != -image]
            heapq.heapify(self.crowded)
        crowd = CrowdedImage(place=seen.place, source_id=seen.source_id, boxes=count)
        entry = (count, -image, crowd)  # of equal ones the earlier counts as worse
        if len(self.crowded) < WORST:
            heapq.heappush(self.crowded, entry)
        else:
            heapq.heappushpop(self.crowded, entry)

    def _identity_remarks(self, seen: Observation) -> Iterator[str]:
        if not seen.source_id:
            yield "has neither source_id nor filename"
        elif self.contents.setdefault(seen.source_id, seen.content) != seen.content:
            yield "has the id of another image with other content"

    def _remark(self, text: str, seen: Observation) -> None:
        remark = self.remarks[text]
        remark[0] = int(remark[0]) + 1
        if len(remark) <= EXAMPLES:
            remark.append(describe(seen))

    def statistics(self) -> Statistics:
        sizes = np.array(self.sizes, np.int64).reshape(-1, 2)
        images = len(sizes)
        mean, square_mean = self.mean / max(images, 1), self.square_mean / max(images, 1)
        deviation = np.sqrt(np.maximum(square_mean - mean**2, 0.0))
        return Statistics(
            images=images,
            boxes=sum(self.counts),
            classes=dict(self.classes.most_common()),
            unknown_classes=dict(self.unknown_classes.most_common()),
            left_out=self.left_out.result(),
            remarks=tuple(_remark(text, entry) for text, entry in self.remarks.items()),
            clipped=self.clipped,
            image_sizes=_image_sizes(sizes) if images else None,
            box_sizes=_box_sizes(np.array(self.boxes, np.float32).reshape(-1, 4)),
            boxes_per_image=_boxes_per_image(self.counts, self.crowded) if images else None,
            pixel_mean=tuple(mean.tolist()) if images else (),
            pixel_deviation=tuple(deviation.tolist()) if images else (),
            largest_image_bytes=self.largest_pixels * 3,
            largest_image=self.largest_image,
            stored_bytes=tuple(sorted(self.stored)),
            records_left_out=tuple(self.records_left_out),
            records_merged=tuple(self.records_merged),
        )


class _LeftOutBooks:
    """What was left out, by reason."""

    def __init__(self) -> None:
        self.images: Counter[Reason] = Counter()
        self.boxes: Counter[Reason] = Counter()
        self.affected: Counter[Reason] = Counter()
        self.examples: defaultdict[Reason, list[str]] = defaultdict(list)

    def enter(self, seen: Observation) -> None:
        reasons = Counter(reason for reason in seen.box_reasons if reason)
        self.boxes.update(reasons)
        if seen.reason:
            self.images[seen.reason] += 1
        for reason in sorted({*reasons, seen.reason} - {Reason.KEPT}):
            self.affected[reason] += 1
            if len(self.examples[reason]) < EXAMPLES:
                self.examples[reason].append(describe(seen))

    def result(self) -> tuple[LeftOut, ...]:
        return tuple(
            LeftOut(
                reason=reason.text,
                images=self.images[reason],
                boxes=self.boxes[reason],
                images_affected=self.affected[reason],
                examples=tuple(self.examples[reason]),
            )
            for reason in sorted(self.affected)
        )


def _remark(text: str, entry: list[int | str]) -> Remark:
    count, *examples = entry
    return Remark(text=text, images=int(count), examples=tuple(map(str, examples)))


def _quantiles(values: NDArray[np.generic]) -> Quantiles:
    numbers = np.percentile(values.astype(np.float64), (0, 5, 25, 50, 75, 95, 100)).tolist()
    return Quantiles(**dict(zip(Quantiles.__dataclass_fields__, numbers, strict=True)))


def _image_sizes(sizes: NDArray[np.int64]) -> ImageSizes:
    height, width = sizes[:, 0], sizes[:, 1]
    square = np.abs(height - width) <= SQUARE_TOLERANCE * sizes.max(axis=1)
    return ImageSizes(
        height=_quantiles(height),
        width=_quantiles(width),
        aspect_ratio=_quantiles(width / height),
        portrait=int(((height > width) & ~square).sum()),
        landscape=int(((width > height) & ~square).sum()),
        square=int(square.sum()),
    )


def _box_sizes(sizes: NDArray[np.float32]) -> BoxSizes | None:
    if not len(sizes):
        return None
    return BoxSizes(
        height=_quantiles(sizes[:, 0]),
        width=_quantiles(sizes[:, 1]),
        height_pixels=_quantiles(sizes[:, 2]),
        width_pixels=_quantiles(sizes[:, 3]),
        aspect_ratio=_quantiles(sizes[:, 3].astype(np.float64) / sizes[:, 2]),
    )


def _boxes_per_image(
    counts: array[int], crowded: list[tuple[int, int, CrowdedImage]]
) -> BoxesPerImage:
    numbers = np.array(counts, np.int64)
    return BoxesPerImage(
        mean=float(numbers.mean()),
        median=float(np.median(numbers)),
        maximum=int(numbers.max()),
        without=int((numbers == 0).sum()),
        worst=tuple(image for *_, image in sorted(crowded, reverse=True)),
    )
