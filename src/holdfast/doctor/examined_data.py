"""The data of one reader of a config; each thing about it is made when first needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from holdfast.config.label_map import load_label_map
from holdfast.config.paths import Base, find_files
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.doctor.lazy_part import LazyPart, MissingError
from holdfast.errors import HoldfastError
from holdfast.progress import Watch

if TYPE_CHECKING:
    from holdfast.data.survey.inspection import Records
    from holdfast.data.survey.observe import Observation
    from holdfast.data.survey.statistics import Statistics
    from holdfast.doctor.appearances import Appearances
    from holdfast.doctor.data_case import SampledImage
    from holdfast.doctor.looks import ImageLook
    from holdfast.doctor.whole_images import WholeImage


class DataPlace(NamedTuple):
    """Which data is meant, and where it is found."""

    name: str  # of the config's field, such as train_input_reader
    purpose: str  # training or evaluation
    reader: Callable[[], InputReader | None]
    folder: Callable[[], Path]  # where relative paths lead from, after the working directory


class ExaminedData:
    """What a check may look at of the data to train on, or of that to evaluate on.

    All but `reader`, `label_map` and `files` load TensorFlow, once there are files to look at.
    """

    def __init__(self, place: DataPlace, watch: Watch) -> None:
        self._place = place
        self._watch = watch  # is told how far a reading of the data has come

    @LazyPart
    def reader(self) -> InputReader:
        """The reader of the data; of several to evaluate on, the first."""
        reader = self._place.reader()
        if reader is None:
            raise MissingError(f"the config has no {self._place.name}")
        return reader

    @LazyPart
    def label_map(self) -> StringIntLabelMap:
        """The label map of the reader."""
        found = find_files(self.reader.label_map_path, self._place.folder())
        if not found.files:
            raise MissingError(f"the label map of {self._place.name} is not there")
        return load_label_map(found.files[0])

    @LazyPart
    def files(self) -> tuple[Path, ...]:
        """The TFRecord files."""
        named = self.reader.tf_record_input_reader
        patterns = named.input_path if named is not None else ()
        if not patterns:
            raise MissingError(f"{self._place.name} names no TFRecord files")
        files: list[Path] = []
        for pattern in patterns:
            found = find_files(pattern, self._place.folder())
            if found.base is Base.REMOTE:
                raise MissingError(f"{pattern} is remote: copy it here to have it looked at")
            if found.base is Base.NOWHERE:
                raise MissingError(f"{pattern} leads to no file")
            files += found.files
        return tuple(files)

    @LazyPart
    def records(self) -> Records:
        """The TFRecord files, and how to read them."""
        _ = self.files  # first: without files, no reason to load TensorFlow
        from holdfast.data.input.build_input import open_reader

        return open_reader(self.reader, self._place.folder(), name=self._place.name)

    @LazyPart
    def statistics(self) -> Statistics:
        """What is in the data; every record is read, unless that was done before."""
        records = self.records
        from holdfast.doctor.data_case import statistics_of

        return statistics_of(records, f"look at the {self._place.purpose} data", self._watch)

    @LazyPart
    def observations(self) -> tuple[Observation, ...]:
        """Boxes, sizes and ids of images, without pixels; of many only an even sample."""
        records, statistics = self.records, self.statistics
        from holdfast.doctor.data_case import observations_of

        return observations_of(records, statistics)

    @LazyPart
    def sample(self) -> tuple[SampledImage, ...]:
        """A few images, evenly spread; pixels are decoded when asked for."""
        records, statistics = self.records, self.statistics
        from holdfast.doctor.data_case import sample_of

        return sample_of(records, statistics)

    @LazyPart
    def images(self) -> tuple[WholeImage, ...]:
        """The images, each with all of its boxes."""
        observations = self.observations
        from holdfast.doctor.whole_images import whole_images

        return whole_images(observations)

    @LazyPart
    def looks(self) -> tuple[ImageLook, ...]:
        """A few images, decoded and made small."""
        sample, images = self.sample, self.images
        from holdfast.doctor.looks import look_at_sample

        return look_at_sample(sample, images)

    @LazyPart
    def appearances(self) -> Appearances:
        """The perceptual hash of every image."""
        images = self.images
        from holdfast.doctor.appearances import appearances_of

        what = f"compare the {self._place.purpose} images"
        return appearances_of(self.records, images, what, self._watch)


def readable_label_map(data: ExaminedData) -> StringIntLabelMap | None:
    """Give the label map of the data; None if there is none, or none that can be read."""
    try:
        return data.label_map
    except HoldfastError:
        return None
