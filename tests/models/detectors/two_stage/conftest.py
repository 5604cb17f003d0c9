"""A network in two parts that builds in a second, under the name of a published one."""

from __future__ import annotations

import pytest
from tests.models.detectors.two_stage.tiny_network import TINY

from holdfast.models.backbones.split_networks import SPLIT_NETWORKS


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(SPLIT_NETWORKS, "inception_v2", TINY)
