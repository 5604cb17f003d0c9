from __future__ import annotations

import time

import pytest

from holdfast.training.peers.lost_peer import LostPeerError

from .small_clusters import in_threads, met_peers


def test_values_of_all_reach_all_in_their_order(monkeypatch):
    peers = met_peers(3, monkeypatch)
    for turn in range(20):
        found = in_threads(
            [lambda each=each, turn=turn: each.exchange([turn, each.index]) for each in peers]
        )
        assert found == [[[turn, 0], [turn, 1], [turn, 2]]] * 3


def test_large_contents_reach_the_first_one(monkeypatch):
    peers = met_peers(3, monkeypatch)
    contents = [bytes([index]) * 3_000_000 for index in range(3)]
    first, *_ = in_threads([lambda each=each: each.gather(contents[each.index]) for each in peers])
    assert first == contents


def test_one_that_ends_without_a_word_is_named_to_all(monkeypatch):
    peers = met_peers(3, monkeypatch)
    peers[2]._connections[0].shutdown(2)  # what the system does for a process that was killed
    for error in in_threads([lambda each=each: each.exchange(1) for each in peers[:2]]):
        assert isinstance(error, LostPeerError)
        assert str(error).startswith("Worker 2 (127.0.0.1:")
        assert "ended without a word" in str(error)


def test_one_that_fails_says_why_and_the_first_cause_stays(monkeypatch):
    peers = met_peers(3, monkeypatch)
    peers[1].leave("failed: no space left")
    for error in in_threads([lambda each=each: each.exchange(1) for each in (peers[0], peers[2])]):
        assert "Worker 1 (127.0.0.1:" in str(error)
        assert "failed: no space left" in str(error)
    peers[0].leave("failed: it lost another")
    assert "no space left" in str(peers[2].name_lost())


def test_one_that_ends_in_peace_is_missed_only_where_it_is_waited_for(monkeypatch):
    peers = met_peers(2, monkeypatch)
    peers[1].leave()
    with pytest.raises(LostPeerError, match="ended before the others"):
        peers[0].exchange(1)


@pytest.mark.parametrize("waiting", [0, 1])
def test_one_that_does_nothing_for_too_long_is_named_with_what_it_does(monkeypatch, waiting):
    peers = met_peers(2, monkeypatch, seconds=1.5)
    stuck = 1 - waiting
    peers[stuck].doing("reads the batch of step 6")
    with pytest.raises(LostPeerError, match=rf"Worker {stuck} .* it reads the batch of step 6"):
        peers[waiting].exchange(1)


def test_one_that_moves_slowly_is_waited_for(monkeypatch):
    peers = met_peers(2, monkeypatch, seconds=4.0)

    def slow() -> list[int]:
        for image in range(20):
            peers[1].doing(f"evaluates image {image}")
            time.sleep(0.25)
        return peers[1].exchange(2)

    assert in_threads([lambda: peers[0].exchange(1), slow]) == [[1, 2], [1, 2]]
