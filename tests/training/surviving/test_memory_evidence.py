from __future__ import annotations

import math
import os
import resource
import signal

import pytest

from holdfast.memory.devices import device
from holdfast.training.surviving.memory_evidence import (
    Death,
    MemorySample,
    count_oom_kills,
    memory_evidence,
)

GIB = 2**30


def death(number: signal.Signals = signal.SIGKILL, **values) -> Death:
    """A death of which nothing speaks for memory."""
    sample = MemorySample(
        oom_kills=values.pop("kills_before", 3),
        left_bytes=values.pop("left", 20 * GIB),
        address_bytes=values.pop("addresses", 4 * GIB),
    )
    usual = {"peak_bytes": 2 * GIB, "messages": "", "oom_kills": 3}
    return Death(signal=number, before=sample, last=sample, **usual | values)


@pytest.fixture
def addresses(monkeypatch):
    """Give a function that limits the addresses, as far as anyone asks."""

    def limit(count: int) -> None:
        monkeypatch.setattr(resource, "getrlimit", lambda _: (count, count))

    limit(resource.RLIM_INFINITY)
    return limit


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_a_death_with_much_memory_left_is_not_laid_to_memory(addresses, number):
    assert memory_evidence(death(number)) is None
    assert memory_evidence(death(number, messages="shapes differ", left=math.inf)) is None


def test_the_kernels_count_of_kills_speaks_for_memory_where_the_process_was_killed(addresses):
    assert "the kernel killed" in str(memory_evidence(death(oom_kills=4)))
    assert memory_evidence(death(signal.SIGSEGV, oom_kills=4)) is None


def test_so_does_what_it_wrote(addresses):
    said = "F0000 threadpool.cc Check failed\nThread tf_data creation via pthread_create() failed."
    found = str(memory_evidence(death(signal.SIGABRT, messages=said)))
    assert found.startswith("it wrote: Thread tf_data creation")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS])
def test_so_does_a_machine_a_container_or_an_allowance_that_is_nearly_full(addresses, number):
    assert memory_evidence(death(number, left=GIB // 10)) == "it held 2 GiB, and 102 MiB were left"
    found = memory_evidence(death(number, memory_bytes=int(2.1 * GIB)))
    assert found == "it held 2 GiB of the 2.1 GiB of --memory"
    assert memory_evidence(death(number, memory_bytes=3 * GIB)) is None
    assert memory_evidence(death(signal.SIGFPE, left=GIB // 10)) is None


def test_so_do_addresses_that_are_nearly_all_taken_but_not_where_it_was_killed(addresses):
    addresses(5 * GIB)
    found = str(memory_evidence(death(signal.SIGSEGV)))
    assert found == "it had 4 GiB of the 5 GiB of addresses (ulimit -v)"
    assert memory_evidence(death(signal.SIGKILL)) is None
    addresses(8 * GIB)
    assert memory_evidence(death(signal.SIGSEGV)) is None


@pytest.mark.parametrize(
    ("line", "folder", "name"),
    [
        ("0::/job", "job", "memory.events"),
        ("4:memory:/job", "memory/job", "memory.oom_control"),
    ],
)
def test_kills_are_counted_in_the_groups_of_both_versions(
    tmp_path, monkeypatch, line, folder, name
):
    before = count_oom_kills_without_groups(monkeypatch, tmp_path)
    (tmp_path / "process").mkdir(exist_ok=True)
    (tmp_path / "process" / "cgroup").write_text(f"{line}\n")
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / name).write_text("oom 9\noom_kill 2\noom_group_kill 5\n")
    assert count_oom_kills() == before + 2


def count_oom_kills_without_groups(monkeypatch, tmp_path) -> int:
    monkeypatch.setattr(device, "_PROCESS", tmp_path / "process")
    monkeypatch.setattr(device, "_CGROUPS", tmp_path)
    return count_oom_kills()


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="there is no /proc")
def test_a_sample_sees_the_addresses_of_a_process_and_what_is_left():
    sample = MemorySample.take(os.getpid())
    assert sample.address_bytes > 2**20
    assert sample.left_bytes > 0
