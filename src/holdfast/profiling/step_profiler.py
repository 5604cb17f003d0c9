"""Some steps of a training under TensorFlow's profiler."""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf

_TENSORS_AND_OPERATIONS = 2  # how much of the host is traced
_KERNELS = 1  # of a GPU


class StepProfiler:
    """Traces `count` steps beginning with the step of number `first`, counted from 1."""

    def __init__(self, folder: Path, *, first: int, count: int) -> None:
        self.folder = folder
        self.first = first
        self.count = count
        self._is_on = False

    def done(self, steps: int) -> Path | None:
        """Hear how many steps are done; when the last one is traced, give the file of the trace."""
        if self._is_on and steps >= self.first + self.count - 1:
            self._is_on = False
            tf.profiler.experimental.stop()
            return newest_trace(self.folder)
        if not self._is_on and steps == self.first - 1:
            self._is_on = True
            options = tf.profiler.experimental.ProfilerOptions(
                host_tracer_level=_TENSORS_AND_OPERATIONS,
                python_tracer_level=0,
                device_tracer_level=_KERNELS,
            )
            tf.profiler.experimental.start(str(self.folder), options)
        return None

    def stop(self) -> None:
        """End a trace whose steps did not all come, without keeping it in mind."""
        if self._is_on:
            self._is_on = False
            tf.profiler.experimental.stop(save=False)


def newest_trace(folder: Path) -> Path:
    """Find the file that was written last."""
    files = folder.glob("plugins/profile/*/*.xplane.pb")
    return max(files, key=lambda path: path.stat().st_mtime)
