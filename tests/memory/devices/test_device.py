from __future__ import annotations

import os
import stat
import subprocess
import sys

import pytest

from holdfast.errors import HoldfastError
from holdfast.memory.devices import device
from holdfast.memory.devices.cards import usable_bytes
from holdfast.memory.devices.host import resident_bytes

MIB = 2**20


def test_without_other_limits_the_free_memory_of_the_machine_counts():
    limit = device.host_limit()
    assert limit.device == device.CPU
    assert resident_bytes() / 2 < limit.bytes < 2**50


def test_a_limit_of_address_space_is_seen():
    code = """
import resource
from holdfast.memory.devices.device import host_limit
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + 455 * 2**20,) * 2)
limit = host_limit()
from holdfast.memory.devices.host import resident_bytes
print((limit.bytes - resident_bytes()) // 2**20, limit.source)
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    left, _, source = answer.stdout.partition(" ")
    assert 50 <= int(left) <= 64, answer.stderr
    assert "ulimit" in source


@pytest.mark.parametrize(
    ("line", "folder", "names"),
    [
        ("0::/job", "job", ("memory.max", "memory.current", "inactive_file")),
        (
            "4:cpu,memory:/job",
            "memory/job",
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ),
    ],
)
def test_a_container_of_either_version_is_seen(tmp_path, monkeypatch, line, folder, names):
    limit, used, cached = names
    process, group = tmp_path / "self", tmp_path / "groups" / folder
    process.mkdir()
    group.mkdir(parents=True)
    (process / "cgroup").write_text(line + "\n")
    (group / limit).write_text(f"{300 * MIB}\n")
    (group / used).write_text(f"{250 * MIB}\n")
    (group / "memory.stat").write_text(f"anon 5\n{cached} {20 * MIB}\n")
    (group.parent / limit).write_text("max\n")
    monkeypatch.setattr(device, "_PROCESS", process)
    monkeypatch.setattr(device, "_CGROUPS", tmp_path / "groups")
    left = device.host_limit().bytes - resident_bytes()
    assert left == pytest.approx(70 * MIB, abs=5 * MIB)
    assert device.host_limit().source == "memory of the container"


@pytest.fixture
def nvidia(tmp_path, monkeypatch):
    """A machine with two GPUs, of which others use a part."""
    program = tmp_path / "nvidia-smi"
    rows = ("0, GPU-aa, RTX, 12000, 8.6", "1, GPU-bb, RTX, 5000, 8.6")
    program.write_text("#!/bin/sh\n" + "".join(f"echo '{row}'\n" for row in rows))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return monkeypatch


@pytest.mark.parametrize(
    ("visible", "free"), [(None, 5000), ("0", 12000), ("1", 5000), ("GPU-aa", 12000), ("0,1", 5000)]
)
def test_the_fullest_gpu_that_the_process_may_use_counts(nvidia, visible, free):
    nvidia.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        nvidia.setenv("CUDA_VISIBLE_DEVICES", visible)
    limit = device.device_limit()
    assert (limit.device, limit.bytes) == (device.GPU, usable_bytes(free, 8))


def test_without_a_gpu_the_host_counts(nvidia):
    nvidia.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert device.device_limit().device == device.CPU
    assert device.device_limit("cpu").device == device.CPU


def test_a_gpu_that_is_not_there_is_not_taken_for_the_host(nvidia):
    nvidia.setenv("CUDA_VISIBLE_DEVICES", "-1")
    with pytest.raises(HoldfastError, match="no GPU"):
        device.device_limit("gpu")
    assert device.device_limit("gpu", 5 * MIB).bytes == 5 * MIB


def test_memory_that_is_given_counts_on_the_device_that_is_there(nvidia):
    nvidia.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    limit = device.device_limit(None, 5 * MIB)
    assert (limit.device, limit.bytes, limit.source) == (device.GPU, 5 * MIB, device.GIVEN)
