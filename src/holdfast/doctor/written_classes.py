"""How records themselves number their classes, whatever a label map says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from holdfast.data.sources.tfrecord import record_parser
from holdfast.doctor.data_case import SampledImage


def written_classes(sample: Sequence[SampledImage]) -> dict[str, int]:
    """Give the id that records write most often beside each class text.

    Empty where records have texts alone or ids alone.
    """
    if not sample:
        return {}
    parse = record_parser(sample[0].records.layout)
    seen: Counter[tuple[str, int]] = Counter()
    for each in sample:
        parsed = parse(each.record)
        texts = parsed.class_text.numpy().tolist()
        numbers = parsed.class_numbers.numpy().tolist()
        seen.update(zip((text.decode("utf-8", "replace") for text in texts), numbers, strict=False))
    ids: dict[str, int] = {}
    for (text, number), _ in seen.most_common():
        ids.setdefault(text, number)
    return ids
