from __future__ import annotations

import gc
import socket

import pytest

from .small_clusters import KEPT, MET


@pytest.fixture(autouse=True)
def closed():
    """Close all that a test left open; nobody is missed then."""
    # Held while the test runs: the id of one that is gone could be that of a new one.
    held = _sockets()
    before = {id(each) for each in held}
    yield
    for peers in MET:
        peers.leave()
    for each in _sockets():
        if id(each) not in before:
            each.close()
    MET.clear()
    KEPT.clear()


def _sockets() -> list[socket.socket]:
    return [each for each in gc.get_objects() if isinstance(each, socket.socket)]
