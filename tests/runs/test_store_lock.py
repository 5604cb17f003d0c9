import json
import threading
import time

import pytest

from holdfast.errors import HoldfastError
from holdfast.runs.store_lock import LOCK_OBJECT, StoreLock
from holdfast.store.gs_place import GsPlace
from holdfast.store.store_errors import StoreError

RUN = GsPlace("cells", "runs/one")
NAME = f"runs/one/{LOCK_OBJECT}"


def locked(owner: str, told: list[str] | None = None, **seconds: float) -> StoreLock:
    tell = (told if told is not None else []).append
    return StoreLock(RUN, owner, tell, **{"renewal_seconds": 0.1, "stale_seconds": 0.6} | seconds)


def test_a_lock_is_an_object_that_names_its_holder(store):
    lock = locked("machine")
    values = json.loads(store.objects["cells"][NAME].content)
    assert "process" in values["holder"]
    assert values["renewed"].startswith("20")
    lock.release()
    lock.release()
    assert store.names("cells") == []


def test_a_run_that_another_trains_in_is_refused(store):
    told: list[str] = []
    first = locked("one machine")
    with pytest.raises(
        HoldfastError, match=r"process \d+ on .* is training in gs://cells/runs/one"
    ):
        locked("another machine", told, stale_seconds=30.0)
    assert len(told) == 1
    first.release()


def test_a_lock_that_nobody_renews_is_taken_over(store):
    killed = locked("one machine", renewal_seconds=3600.0)
    told: list[str] = []
    second = locked("another machine", told)
    assert "dead" in told[0]
    values = json.loads(store.objects["cells"][NAME].content)
    assert values["owner"] == "another machine"
    killed.release()  # changes nothing: it is not its own any more
    assert store.names("cells") == [NAME]
    second.release()


def test_the_same_machine_takes_its_own_lock_at_once(store):
    locked("machine", renewal_seconds=3600.0)
    told: list[str] = []
    again = locked("machine", told, stale_seconds=3600.0)
    assert told == []
    again.release()


def test_of_two_that_start_together_one_trains(store):
    taken, refused = [], []

    def start(owner: str) -> None:
        try:
            taken.append(locked(owner, stale_seconds=30.0))
        except HoldfastError as error:
            refused.append(error)

    threads = [threading.Thread(target=start, args=(f"machine {each}",)) for each in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(taken), len(refused)) == (1, 3)
    taken[0].release()


def test_a_holder_learns_that_its_lock_was_taken(store):
    lock = locked("one machine")
    store.put("cells", NAME, b'{"owner": "another machine"}')
    deadline = time.monotonic() + 30
    while not lock.is_lost and time.monotonic() < deadline:
        time.sleep(0.02)
    assert lock.is_lost
    lock.release()
    assert store.names("cells") == [NAME]


def test_a_renewal_whose_answer_was_lost_is_not_a_loss(store):
    lock = locked("machine")
    store.put("cells", NAME, b'{"owner": "machine"}')  # as that renewal would have left it
    generation = store.objects["cells"][NAME].generation
    deadline = time.monotonic() + 30
    while store.objects["cells"][NAME].generation == generation and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not lock.is_lost
    assert store.objects["cells"][NAME].generation > generation
    lock.release()


def test_a_store_that_refuses_writing_is_told(store):
    store.fault = lambda request: 403 if request.method == "POST" else None
    with pytest.raises(StoreError, match="may not"):
        locked("machine")
