"""Traces as the profiler writes them, of hosts and of devices that are not here."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import HoldfastError
from holdfast.profiling.step_profile import profile_of
from holdfast.profiling.trace_file import Interval, read_trace


class Written:
    """A trace that is written event by event; times are in milliseconds."""

    def __init__(self) -> None:
        from tensorflow.tsl.profiler.protobuf import xplane_pb2

        self._space = xplane_pb2.XSpace()

    def event(self, plane: str, line: str, name: str, start: float, end: float, **values) -> None:
        planes = {each.name: each for each in self._space.planes}
        home = planes.get(plane) or self._space.planes.add(name=plane)
        lines = {each.name: each for each in home.lines}
        thread = lines.get(line) or home.lines.add(name=line, timestamp_ns=5_000_000)
        number = len(home.event_metadata) + 1
        home.event_metadata[number].name = name
        event = thread.events.add(metadata_id=number)
        event.offset_ps, event.duration_ps = round(start * 1e9), round((end - start) * 1e9)
        for key, value in values.items():
            number = len(home.stat_metadata) + 1
            home.stat_metadata[number].name = key
            statistic = event.stats.add(metadata_id=number)
            if isinstance(value, str):
                statistic.str_value = value
            else:
                statistic.int64_value = value

    def to(self, path: Path) -> Path:
        path.write_bytes(self._space.SerializeToString())
        return path


HOST, POOL = "/host:CPU", "tf_Compute/1"
LAYER = "detector_1/backbone_1/Conv2d_0_1/convolution_1/convolution"


@pytest.fixture
def written() -> Written:
    trace = Written()
    trace.event(HOST, "python", "train", 0, 10, step_num=1, _r=1)
    trace.event(HOST, "python", "waiting for input", 0, 2)
    trace.event(HOST, POOL, f"{LAYER}:_MklNativeConv2D", 2, 6)
    trace.event(HOST, POOL, "ExecutorState::Process", 2, 9)
    trace.event(HOST, POOL, "cond/optimizer/add:AddV2", 6, 7)
    trace.event(HOST, "tf_data_private_threadpool/2", "decode:DecodeJpeg", 0, 9)
    return trace


def test_steps_waits_and_operations_are_found(written, tmp_path):
    trace = read_trace(written.to(tmp_path / "trace"))
    assert trace.steps == (pytest.approx(Interval(0.005, 0.015)),)
    assert len(trace.waits) == 1
    ((first, second),) = trace.threads
    assert (first.name, first.kind) == (LAYER, "_MklNativeConv2D")
    assert second.end - second.start == pytest.approx(0.001)


def test_a_step_is_its_layers_its_optimizer_its_wait_and_the_rest(written, tmp_path):
    written.event(
        *(HOST, POOL, "MemoryAllocation", 3, 3),
        allocator_name="cpu",
        addr=7,
        allocation_bytes=64,
        bytes_allocated=100,
        tf_op=LAYER,
    )
    profile = profile_of(written.to(tmp_path / "trace"), tmp_path)
    shares = {row.name: (round(row.share, 6), row.bytes) for row in profile.layers}
    assert shares == {
        "backbone/Conv2d_0/convolution": (0.4, 64),
        "waiting for input": (0.2, 0),
        "between operations": (0.3, 0),
        "optimizer": (0.1, 0),
        "weights, and all held before": (0.0, 36),
    }
    assert [row.name for row in profile.operations[:2]] == ["Conv2D", "between operations"]
    assert profile.step_seconds == pytest.approx(0.010)
    assert profile.input_seconds == pytest.approx(0.002)
    assert profile.items["activations/backbone/Conv2d_0"] == 64


def test_where_a_gpu_computes_its_kernels_count(written, tmp_path):
    written.event("/device:GPU:0", "Stream #7", "sgemm", 3, 8, tf_op=f"{LAYER}:Conv2D")
    written.event("/device:GPU:0", "Stream #8", "memcpy", 3, 8)
    trace = read_trace(written.to(tmp_path / "trace"))
    (((name, kind, *_),),) = trace.threads
    assert (name, kind) == (LAYER, "Conv2D")


def test_a_trace_without_steps_is_refused(tmp_path):
    trace = Written()
    trace.event(HOST, POOL, "a:AddV2", 0, 1)
    with pytest.raises(HoldfastError, match="no steps"):
        profile_of(trace.to(tmp_path / "trace"), tmp_path)
