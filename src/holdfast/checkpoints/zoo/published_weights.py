"""What is known of one set of published weights."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.config.facts.extractors import extractor


@dataclass(frozen=True, kw_only=True)
class PublishedWeights:
    """Weights that can be fetched: an archive of a model zoo, or a file of Keras weights."""

    name: str  # of the archive or file, without its ending
    address: str
    trained_on: str = "COCO"
    sides: tuple[int, int] | None = None  # of the network's input, the shorter first, in pixels
    coco_map: float | None = None  # mean average precision on COCO, in per cent, as published
    outputs: str = "boxes"
    extractor: str = ""  # feature_extractor.type of the archive's config; "" for a classifier
    lacking: str = ""  # what of its detector Holdfast does not build, besides the extractor
    md5: str = ""  # of the file, where that is published

    @property
    def file_name(self) -> str:
        """What the file is called, here and on a mirror."""
        return self.address.rpartition("/")[2]

    @property
    def is_classifier(self) -> bool:
        """Whether they fill a backbone and nothing else."""
        return not self.extractor

    @property
    def is_built(self) -> bool:
        """Whether Holdfast has the network that they fill."""
        if self.is_classifier:
            return True
        known = extractor(self.extractor)
        return known is not None and known.nearest is None and not self.lacking
