from __future__ import annotations

import socket

import pytest

from holdfast.errors import HoldfastError
from holdfast.training.peers.lost_peer import LostPeerError
from holdfast.training.peers.meeting import Cluster, meet

from ..workers import free_addresses
from .small_clusters import cluster_of, in_threads


def test_all_meet_and_the_first_one_is_connected_to_each(monkeypatch):
    clusters = cluster_of(3, monkeypatch)
    first, *others = in_threads([lambda each=each: meet(each, 30.0) for each in clusters])
    assert sorted(first) == [1, 2]
    assert [sorted(each) for each in others] == [[0], [0]]


def test_the_address_of_the_first_one_is_free_again_behind_the_meeting(monkeypatch):
    clusters = cluster_of(2, monkeypatch)
    kept = in_threads([lambda each=each: meet(each, 30.0) for each in clusters])
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("", int(clusters[0].addresses[0].split(":")[1])))
        server.listen()
    assert kept


def test_everybody_who_came_names_who_did_not(monkeypatch):
    clusters = cluster_of(3, monkeypatch)
    found = in_threads([lambda each=each: meet(each, 1.5) for each in clusters[:2]])
    for error in found:
        assert isinstance(error, LostPeerError)
        assert "After 1.5 s, 1 process of the 3 in TF_CONFIG did not come: worker 2" in str(error)
        assert clusters[2].addresses[2] in str(error)


def test_without_the_first_one_the_others_name_it(monkeypatch):
    cluster = cluster_of(3, monkeypatch)[1]
    with pytest.raises(LostPeerError, match=rf"worker 0 \({cluster.addresses[0]}\)"):
        meet(cluster, 0.5)


def test_strangers_are_sent_away_and_one_that_left_may_come_back(monkeypatch):
    clusters = cluster_of(2, monkeypatch)
    host, port = clusters[0].addresses[0].split(":")

    def stranger() -> None:
        for words in (b"GET / HTTP/1.1\r\n\r\n", b""):
            while True:
                try:
                    with socket.create_connection((host, int(port))) as connection:
                        connection.sendall(words)
                    break
                except OSError:
                    continue

    other = Cluster(addresses=[*clusters[0].addresses, "127.0.0.1:1"], index=1)
    works = [lambda: meet(clusters[0], 30.0), stranger, lambda: meet(other, 0.5)]

    def late() -> object:
        stranger()
        return meet(clusters[1], 30.0)

    first, _, refused, second = in_threads([*works, late])
    assert (sorted(first), sorted(second)) == ([1], [0])
    assert isinstance(refused, LostPeerError)


def test_an_address_that_is_taken_or_has_no_port_is_an_error_that_says_so():
    address = free_addresses(1)[0]
    cluster = Cluster(addresses=[address, "b:1"], index=0)
    with socket.socket() as server:
        server.bind(("", int(address.split(":")[1])))
        server.listen()
        with pytest.raises(HoldfastError, match="which TF_CONFIG gives the first process"):
            meet(cluster, 1.0)
    with pytest.raises(HoldfastError, match="has no port"):
        meet(Cluster(addresses=["a", "b"], index=1), 1.0)
