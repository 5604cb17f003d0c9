"""gpu-unseen: there is a GPU, and TensorFlow will not use it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from ctypes.util import find_library
from importlib.metadata import PackageNotFoundError, version

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix

# What tensorflow[and-cuda] installs, and what a system has instead.
_PACKAGES = ("nvidia-cudnn-cu12", "nvidia-cuda-runtime-cu12")
_LIBRARIES = ("cudnn", "cudart")


@check("gpu-unseen", about="machine", needs=("gpus",))
def gpu_unseen(case: Case) -> Iterator[Finding]:
    """A GPU of this machine is one that TensorFlow will not see.

    Why it happens: TensorFlow is installed without its CUDA libraries, which is what `pip install
    tensorflow` does; or CUDA_VISIBLE_DEVICES hides the GPU. TensorFlow then trains on the CPU, a
    hundred times slower, and says so in one line among many.

    How it is seen: the driver lists a GPU. Neither the packages of tensorflow[and-cuda] nor CUDA's
    libraries are there, or CUDA_VISIBLE_DEVICES names none of the GPUs.

    What helps: `pip install 'tensorflow[and-cuda]'`, or another value of CUDA_VISIBLE_DEVICES.
    """
    from holdfast.memory.devices.installed_gpus import visible_gpus

    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    order = os.environ.get("CUDA_DEVICE_ORDER", "")
    if not visible_gpus(case.gpus, visible, order):
        yield _unseen(
            case,
            f"CUDA_VISIBLE_DEVICES is {visible!r}, which names none of the GPUs.",
            Fix(text="Unset it, or name a GPU.", command="unset CUDA_VISIBLE_DEVICES"),
        )
    elif not all(map(_has_package, _PACKAGES)) and not all(map(find_library, _LIBRARIES)):
        yield _unseen(
            case,
            "TensorFlow's CUDA libraries are not installed.",
            Fix(
                text="Install TensorFlow with them.",
                command="pip install 'tensorflow[and-cuda]'",
            ),
        )


def _unseen(case: Case, what: str, fix: Fix) -> Finding:
    names = [gpu.name for gpu in case.gpus]
    return Finding(
        code="gpu-unseen",
        severity="warning",
        what=f"{what} {', '.join(names)} will not be used.",
        why="On the CPU a training takes some hundred times as long.",
        evidence={
            "gpus": names,
            "cuda_visible_devices": os.environ.get("CUDA_VISIBLE_DEVICES"),
        },
        fix=fix,
    )


def _has_package(name: str) -> bool:
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False
