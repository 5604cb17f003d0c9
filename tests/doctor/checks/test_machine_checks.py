"""What the checks of a machine say, on machines that are made up."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.doctor.cases import HEALTHY, case_of, found

from holdfast.doctor.case import Case
from holdfast.doctor.check import CHECKS, all_checks
from holdfast.doctor.checks import disk_short, gpu_unseen, storage_unreachable
from holdfast.doctor.checks.storage_unreachable import Answer
from holdfast.doctor.diagnose import examine
from holdfast.doctor.gpu_processes import GpuProcess
from holdfast.memory.devices import device
from holdfast.memory.devices.device import Limit
from holdfast.memory.devices.installed_gpus import InstalledGpu
from holdfast.memory.plan import MemoryPlan, StepSettings
from holdfast.runs.events import Event

GIB = 2**30
GPU = InstalledGpu(index=0, uuid="GPU-1", name="T4", free_mib=15000, capability=7)


def severity(case: Case, code: str) -> str | None:
    finding = found(case, code)
    return finding.severity if finding is not None else None


def steps(count: int, computing: float, waiting: float) -> tuple[Event, ...]:
    values = {"step_seconds": computing, "input_seconds": waiting}
    return tuple(Event(step, "step", values) for step in range(1, count + 1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("{'cluster': {}}", "error"),
        ("[1]", "error"),
        ('{"cluster": {"worker": ["localhost"]}}', "error"),
        ('{"cluster": {"boss": ["localhost:2222"]}, "task": {"type": "boss"}}', "error"),
        ('{"cluster": {"worker": ["localhost:2222"]}}', "error"),
        ('{"cluster": {"worker": ["localhost:1", "localhost:1"]}}', "error"),
        (
            '{"cluster": {"worker": ["localhost:2222"]}, "task": {"type": "worker", "index": 1}}',
            "error",
        ),
        (
            '{"cluster": {"worker": ["localhost:2222"]}, "task": {"type": "chief", "index": 0}}',
            "error",
        ),
        (
            '{"cluster": {"worker": ["192.0.2.1:2222"]}, "task": {"type": "worker", "index": 0}}',
            "warning",
        ),
        (
            '{"cluster": {"worker": ["127.0.0.1:2222"]}, "task": {"type": "worker", "index": 0}}',
            None,
        ),
    ],
)
def test_a_cluster_must_name_this_machine(
    monkeypatch: pytest.MonkeyPatch, text: str, expected: str | None
):
    monkeypatch.setenv("TF_CONFIG", text)
    assert severity(case_of(HEALTHY), "cluster-wrong") == expected


def test_memory_is_short_where_the_plan_does_not_fit():
    def planned(peak: int, measured: int | None = None) -> Case:
        plan = MemoryPlan(
            fits=GIB + peak <= 8 * GIB,
            limit_bytes=8 * GIB,
            base_bytes=GIB,
            predicted_peak_bytes=peak,
            items={"activations/backbone": peak},
            settings=StepSettings(micro_batch=8),
        )
        manifest = SimpleNamespace(measured_peak_bytes=measured)
        return case_of(HEALTHY, plan=plan, manifest=manifest)

    assert severity(planned(4 * GIB), "memory-short") is None
    assert severity(planned(9 * GIB), "memory-short") == "error"
    assert severity(planned(7 * GIB), "memory-short") == "note"
    assert severity(planned(4 * GIB, measured=8 * GIB), "memory-short") == "error"


@pytest.mark.parametrize(
    ("records", "buffer", "expected"),
    [(10_000, 2048, "error"), (10_000, 1000, "warning"), (10_000, 64, None), (50, 2048, None)],
)
def test_host_memory_is_short_for_large_records_in_a_large_buffer(
    monkeypatch: pytest.MonkeyPatch, records: int, buffer: int, expected: str | None
):
    monkeypatch.setattr(
        device, "host_limit", lambda: Limit(device="cpu", bytes=8 * GIB, source="free memory")
    )
    statistics = SimpleNamespace(stored_bytes=(5 * 2**20,) * records, largest_image_bytes=10**7)
    overrides = {"train_input_reader.shuffle_buffer_size": buffer}
    case = case_of(HEALTHY, overrides, **{"train.statistics": statistics})
    assert severity(case, "host-memory-short") == expected


def test_a_run_is_input_bound_where_its_steps_wait():
    assert severity(case_of(HEALTHY, steps=steps(50, 0.1, 0.2)), "input-bound") == "warning"
    assert severity(case_of(HEALTHY, steps=steps(50, 0.2, 0.01)), "input-bound") is None
    assert severity(case_of(HEALTHY, steps=steps(8, 0.1, 0.9)), "input-bound") is None


def test_events_of_other_versions_say_nothing_about_waiting():
    events = tuple(Event(step, "step", {"seconds": 1}) for step in range(50))
    assert severity(case_of(HEALTHY, steps=events), "input-bound") is None


@pytest.mark.parametrize(
    ("free", "expected"), [(100 * GIB, None), (5 * 700, "error"), (9 * 700, "warning")]
)
def test_the_disk_is_short_of_the_checkpoints_to_come(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, expected: str | None
):
    folder = tmp_path / "checkpoints" / "step-00000001"
    folder.mkdir(parents=True)
    (folder / "weights").write_bytes(b"0" * 700)
    monkeypatch.setattr(disk_short.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    assert severity(case_of(HEALTHY, run_path=tmp_path), "disk-short") == expected


def test_a_gpu_is_unseen_without_cuda_and_where_it_is_hidden(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(gpu_unseen, "version", lambda name: "9.1")
    case = case_of(HEALTHY, gpus=(GPU,))
    assert severity(case, "gpu-unseen") is None
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert severity(case, "gpu-unseen") == "warning"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setattr(gpu_unseen, "_has_package", lambda name: False)
    monkeypatch.setattr(gpu_unseen, "find_library", lambda name: None)
    assert severity(case, "gpu-unseen") == "warning"


def test_a_gpu_is_shared_with_processes_that_hold_much_of_it(tmp_path: Path):
    def shared(*processes: GpuProcess) -> str | None:
        case = case_of(HEALTHY, gpu_processes=processes, run_path=tmp_path)
        return severity(case, "gpu-shared")

    assert shared(GpuProcess(7, "python", 9000)) == "warning"
    assert shared(GpuProcess(7, "Xorg", 200)) is None
    assert shared(GpuProcess(os.getpid(), "python", 9000)) is None
    (tmp_path / ".lock").write_text("7\n")  # it trains in this run
    assert shared(GpuProcess(7, "python", 9000)) is None


@pytest.mark.parametrize(
    ("answer", "credentials", "expected"),
    [
        (Answer(200, ""), False, None),
        (Answer(404, "Not Found"), True, "error"),
        (Answer(403, "Forbidden"), False, "warning"),
        (Answer(403, "Forbidden"), True, None),
        (Answer(None, "no network"), True, "warning"),
    ],
)
def test_storage_is_unreachable_where_its_bucket_says_so(
    monkeypatch: pytest.MonkeyPatch, answer: Answer, credentials: bool, expected: str | None
):
    monkeypatch.setattr(storage_unreachable, "ask", lambda bucket: answer)
    monkeypatch.setattr(storage_unreachable, "has_credentials", lambda: credentials)
    remote = HEALTHY.replace('"train.record"', '"gs://my-bucket/train.record"')
    assert severity(case_of(remote), "storage-unreachable") == expected
    assert severity(case_of(HEALTHY), "storage-unreachable") is None


@pytest.mark.parametrize(
    ("seconds", "saved", "expected"),
    [(0.1, (100, 200), None), (10, (500,), "note"), (20, (500,), "warning"), (20, (5,), None)],
)
def test_checkpoints_are_rare_by_the_time_between_them(
    seconds: float, saved: tuple[int, ...], expected: str | None
):
    taken = steps(30, seconds, 0.0)
    events = (*taken, *(Event(step, "saved", {}) for step in saved))
    assert severity(case_of(HEALTHY, steps=taken, events=events), "checkpoints-rare") == expected


def test_what_is_not_there_is_not_looked_at(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")  # no driver to ask
    all_checks()
    codes = [code for code in CHECKS if CHECKS[code].about == "machine"]
    diagnosis: Any = examine(case_of(HEALTHY), only=codes)
    reasons = dict(diagnosis.not_looked_at)
    assert reasons["gpu-unseen"] == "this machine has no GPU that a driver lists"
    assert reasons["memory-short"] == "there is no run yet, only a config"
    assert json.dumps(diagnosis.document())
