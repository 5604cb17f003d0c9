"""Who can look at regions in chunks, and who is told that it cannot."""

from __future__ import annotations

import pytest
from tests.models.detectors.small_configs import small_config, small_stages
from tests.models.detectors.two_stage.tiny_network import TINY

from holdfast.errors import HoldfastError
from holdfast.models.backbones.split_networks import SPLIT_NETWORKS
from holdfast.models.detectors.build_detector import build_detector
from holdfast.models.detectors.region_chunks import (
    most_region_chunks,
    region_chunks,
    split_regions,
)


def test_a_detector_without_regions_has_one_chunk():
    detector = build_detector(small_config("ssd", 64, 64))
    assert (region_chunks(detector), most_region_chunks(detector)) == (1, 1)
    split_regions(detector, 1)
    with pytest.raises(HoldfastError, match="has none"):
        split_regions(detector, 2)


def test_as_many_chunks_as_regions_unless_batch_norm_would_see_less(monkeypatch):
    monkeypatch.setitem(SPLIT_NETWORKS, "inception_v2", TINY)
    config = small_stages("mask_rcnn", 64, 64)
    frozen = build_detector(config, freeze_batch_norm=True)
    assert most_region_chunks(frozen) == 8
    split_regions(frozen, 4)
    assert region_chunks(frozen) == 4
    with pytest.raises(HoldfastError, match="has 8 of them"):
        split_regions(frozen, 9)
    trained = build_detector(config)
    assert most_region_chunks(trained) == 1
    with pytest.raises(HoldfastError, match="batch norm"):
        split_regions(trained, 2)
