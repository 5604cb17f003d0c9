"""What a writer of a format does: each image as it comes, and the rest at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from holdfast.data.conversion.judge import Verdict
from holdfast.data.sample import Sample
from holdfast.data.sources.image_files import Size

Line = dict[str, Any]  # what the end needs to know about one image, as JSON values
Lines = Callable[[], Iterable[Line]]  # those of a split, read again at each call
Content = Iterable[str]  # of a file, in pieces


class OutImage(NamedTuple):
    """An image on its way out, with what is to be written about it."""

    number: int  # its own
    name: str  # of its file
    split: str
    size: Size
    sample: Sample


class Written(NamedTuple):
    """What a writer makes of one image."""

    line: Line
    files: Mapping[str, str]  # path in the data set -> content, beside the image itself
    remarks: tuple[str, ...] = ()  # in fixed words, what is not written as it was


class Writer(Protocol):
    """Writes one format. All paths are relative to the data set's folder."""

    def image_folder(self, split: str) -> str:
        """Say where the images of a split go."""

    def annotations(self, split: str) -> str:
        """Say what speaks of the images of a split: a file, or the folder that readers look at."""

    def select(self, sample: Sample) -> Verdict:
        """Leave out objects that would mean something else in this format."""

    def write(self, image: OutImage) -> Written:
        """Describe one image."""

    def finish(self, splits: Mapping[str, Lines]) -> Iterator[tuple[str, Content]]:
        """Yield the files that speak of all images, with their content."""

    def notes(self) -> Iterator[str]:
        """Say how classes are numbered where that is not by the label map's ids."""
