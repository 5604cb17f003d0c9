"""Processes that train together, as threads of one: they meet over real connections."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from holdfast.training.peers.meeting import Cluster, meet
from holdfast.training.peers.peers import Peers

from ..workers import free_addresses

KEPT: list[list[Any]] = []  # in the present test: connections are open until it ends
MET: list[Peers] = []  # in the present test


def in_threads(works: Sequence[Callable[[], Any]]) -> list[Any]:
    """Do works at the same time; an error is given as what came out of it."""

    def tried(work: Callable[[], Any]) -> Any:
        try:
            return work()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(works)) as pool:
        KEPT.append(list(pool.map(tried, works)))
    return KEPT[-1]


def cluster_of(count: int, monkeypatch) -> list[Cluster]:
    addresses = free_addresses(count)
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"worker": addresses}}))
    return [Cluster(addresses=addresses, index=index) for index in range(count)]


def met_peers(count: int, monkeypatch, seconds: float = 30.0) -> list[Peers]:
    """Give the peers of each of so many processes, which have met."""
    clusters = cluster_of(count, monkeypatch)
    connections = in_threads([lambda each=each: meet(each, 30.0) for each in clusters])
    MET.extend(
        Peers(found, index=index, count=count, seconds=seconds)
        for index, found in enumerate(connections)
    )
    return list(MET)
