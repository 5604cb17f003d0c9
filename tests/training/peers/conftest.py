from __future__ import annotations

import gc
import socket

import pytest

from .small_clusters import KEPT, MET


@pytest.fixture(autouse=True)
def closed():
    """Close all that a test left open; nobody is missed then."""
    before = {id(each) for each in gc.get_objects() if isinstance(each, socket.socket)}
    yield
    for peers in MET:
        peers.leave()
    for each in gc.get_objects():
        if isinstance(each, socket.socket) and id(each) not in before:
            each.close()
    MET.clear()
    KEPT.clear()
