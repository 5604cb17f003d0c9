"""Load TensorFlow without its start-up messages, which look like errors and are none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def load_tensorflow() -> None:
    """Import TensorFlow and find its devices with standard error closed to native code."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    with _silent_stderr():
        from holdfast.data.devices import find_devices

        find_devices()


def load_strategy() -> Any:
    """Do the same for a training: its devices must be chosen before the first tensor is made."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    with _silent_stderr():
        from holdfast.data.devices import find_devices
        from holdfast.training.distribution import choose_strategy

        strategy = choose_strategy()
        find_devices()
    return strategy


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Send file descriptor 2 to nowhere; Python exceptions still come through afterwards."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
