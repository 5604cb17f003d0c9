"""The data of a case: statistics, boxes and a few pictures, each read no more than needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.data.input.batching import usable_sample
from holdfast.data.input.decode_images import decode_image, decoded_image
from holdfast.data.records.record_files import read_records
from holdfast.data.sample import Sample
from holdfast.data.sources.tfrecord import record_parser
from holdfast.data.survey.box_validity import judge
from holdfast.data.survey.inspection import Records, inspect_data
from holdfast.data.survey.observe import Observation
from holdfast.data.survey.statistics import Statistics
from holdfast.models.detectors.build_layout import usable_records
from holdfast.progress import Watch, in_megabytes

MOST_OBSERVED = 20_000  # images whose boxes are kept in memory: a few hundred bytes each
MOST_SAMPLED = 96  # images whose encoded pixels are: shares of them are known to about 0.1


class SampledImage(NamedTuple):
    """An image of the data, with what is needed to decode and augment it."""

    observation: Observation
    record: bytes  # as stored
    records: Records  # how to read it

    def sample(self) -> Sample:
        """Give the record as training reads it: boxes that cannot be used left out, decoded."""
        parsed = record_parser(self.records.layout)(self.record)
        kept = judge(usable_sample(parsed)).sample
        return kept._replace(image=decode_image(parsed.sample.image))

    def pixels(self) -> NDArray[np.uint8]:
        """Decode the image: (H, W, 3)."""
        parsed = record_parser(self.records.layout)(self.record)
        with decoded_image(parsed.sample.image.numpy()) as pixels:
            return pixels


def statistics_of(records: Records, what: str, watch: Watch) -> Statistics:
    """Look at every record once, or take what an earlier look found."""
    with watch(what, "MB") as progress:
        return inspect_data(records, progress=in_megabytes(progress)).statistics


def observations_of(records: Records, statistics: Statistics) -> tuple[Observation, ...]:
    """Observe what training uses, without pixels; of many images an even part."""
    every = -(-max(statistics.images, 1) // MOST_OBSERVED)
    kept = usable_records(records, statistics)
    return tuple(seen for number, seen in enumerate(kept) if number % every == 0)


def sample_of(records: Records, statistics: Statistics) -> tuple[SampledImage, ...]:
    """Choose images evenly from all that training uses, with their records."""
    every = -(-max(statistics.images, 1) // MOST_SAMPLED)
    kept = usable_records(records, statistics)
    chosen = [seen for number, seen in enumerate(kept) if number % every == 0]
    return tuple(_with_records(chosen, records))


def _with_records(chosen: Sequence[Observation], records: Records) -> Iterator[SampledImage]:
    """Read the files again for the records of observations, each file once."""
    wanted = {seen.record: seen for seen in chosen if seen.record is not None}
    for file in records.files:
        numbers = {number for name, number in wanted if name == file}
        for number, record in enumerate(read_records(file)) if numbers else ():
            if number in numbers:
                yield SampledImage(wanted[file, number], bytes(record), records)
