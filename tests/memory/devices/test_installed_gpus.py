from __future__ import annotations

import os
import stat

import pytest

from holdfast.memory.devices.cards import usable_bytes
from holdfast.memory.devices.device import GPU, device_limit
from holdfast.memory.devices.installed_gpus import installed_gpus, visible_gpus

PCI = "PCI_BUS_ID"
FASTEST = "FASTEST_FIRST"
SMALL, LARGE = "0, GPU-80aa, Quadro P400, 1800, 6.1", "1, GPU-b0bb, RTX 3090, 24000, 8.6"


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """Let the driver's program answer with these lines."""

    def answer(*rows: str) -> None:
        program = tmp_path / "nvidia-smi"
        program.write_text("#!/bin/sh\n" + "".join(f"echo '{row}'\n" for row in rows))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return answer


def visible(names: str | None, order: str = "") -> list[int]:
    return sorted(gpu.index for gpu in visible_gpus(installed_gpus(), names, order))


@pytest.mark.parametrize(
    ("names", "order", "indexes"),
    [
        (None, "", [0, 1]),
        ("1", PCI, [1]),
        ("0", PCI, [0]),
        ("1,0", PCI, [0, 1]),
        ("GPU-b0", FASTEST, [1]),
        ("MIG-GPU-b0bb/1/0", FASTEST, [1]),
        ("", PCI, []),
        ("-1", PCI, []),
        ("7", PCI, []),
        ("0,-1,1", PCI, [0]),
        ("GPU-nowhere", PCI, []),
    ],
)
def test_cuda_visible_devices_chooses_by_number_or_uuid(driver, names, order, indexes):
    driver(SMALL, LARGE)
    assert visible(names, order) == indexes


@pytest.mark.parametrize("order", ["", FASTEST])
def test_a_number_may_mean_any_of_different_gpus_unless_the_order_is_the_bus(driver, order):
    """CUDA counts from the fastest on: its 0 is the driver's 1 here."""
    driver(SMALL, LARGE)
    assert visible("0", order) == [0, 1]


@pytest.mark.parametrize("order", ["", FASTEST, PCI])
def test_gpus_that_are_alike_are_counted_as_the_driver_does(driver, order):
    driver("0, GPU-80aa, T4, 1800, 7.5", "1, GPU-b0bb, T4, 15000, 7.5")
    assert visible("1", order) == [1]


def test_a_digit_in_a_uuid_is_not_a_number(driver, monkeypatch):
    driver(SMALL, LARGE)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("CUDA_DEVICE_ORDER", PCI)
    assert device_limit().bytes == usable_bytes(1800, 6)


@pytest.mark.parametrize("unknown", ["[N/A]", "[Not Supported]", "[Unknown Error]"])
def test_a_gpu_whose_free_memory_the_driver_does_not_say_is_passed_over(driver, unknown):
    driver(f"0, GPU-aa, GB10, {unknown}, 12.1", "1, GPU-bb, RTX 3090, 24000, 8.6")
    assert device_limit().bytes == usable_bytes(24000, 8)


def test_an_unknown_compute_capability_is_taken_for_the_newest(driver):
    driver("0, GPU-aa, New, 24000, [N/A]")
    limit = device_limit()
    assert (limit.device, limit.bytes) == (GPU, usable_bytes(24000, 12))


def test_what_is_not_a_row_is_no_gpu(driver):
    driver("No devices were found", "", "WARNING: infoROM is corrupted at gpu 0000:00:04.0")
    assert installed_gpus() == ()
