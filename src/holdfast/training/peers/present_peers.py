"""The other processes of this training, known to the whole process; none where it trains alone."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.training.cluster import num_workers, worker_addresses, worker_index
from holdfast.training.peers.meeting import Cluster, meet
from holdfast.training.peers.peers import Peers

_present: Peers | None = None


def join_peers(seconds: float) -> None:
    """Meet the other processes of TF_CONFIG, once; LostPeerError names who does not come.

    seconds: to wait for them now, and later for one that does nothing.
    """
    global _present
    if _present is not None or num_workers() <= 1:
        return
    cluster = Cluster(addresses=worker_addresses(), index=worker_index())
    connections = meet(cluster, seconds)
    _present = Peers(
        connections, index=cluster.index, count=len(cluster.addresses), seconds=seconds
    )
    atexit.register(_present.leave)


def present_peers() -> Peers | None:
    """Give the others, if there are any and they were met."""
    return _present


def doing(what: str) -> None:
    """Tell the others, if there are any, what this process begins to do."""
    if _present is not None:
        _present.doing(what)


@contextmanager
def first_one_first() -> Iterator[None]:
    """Let the first process do what it remembers for all; the others do it when it has."""
    peers = _present
    if peers is None:
        yield
    elif peers.is_chief:
        yield
        peers.exchange(None)
    else:
        peers.exchange(None)
        yield
