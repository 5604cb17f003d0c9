"""Load TensorFlow, and keep what libraries print from the terminal: start-up messages and such."""

from __future__ import annotations

import io
import logging
import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from holdfast.registry import load_parts
from holdfast.store.tensorflow_reading import bound_reading

# What decoders and TensorFlow say about images, which Holdfast names itself, with why; greetings.
_NOISE = re.compile(
    r"Corrupt JPEG|Premature end of JPEG|JPEG (file|datastream|data)|[Uu]nsupported marker"
    r"|libpng|^[IWE]\d{4} |OP_REQUIRES|jpeg_|png_|gif_|\bTIFF|^\s*$"
    r"|All log messages before absl|XNNPACK delegate for CPU|^fully_quantize:"
)


def load_tensorflow(parts: Sequence[str] | None = None) -> None:
    """Import TensorFlow and find its devices with standard error closed to native code.

    parts: modules of a user's own to load then.
    """
    set_environment()
    with _silent_stderr():
        from holdfast.data.input.device_search import find_devices

        find_devices()
    import_parts(parts)


def load_strategy(peer_seconds: float) -> Any:
    """Do the same for a training: its devices must be chosen before the first tensor is made.

    peer_seconds: how long to wait for other processes in each step.
    """
    set_environment()
    with _silent_stderr():
        from holdfast.data.input.device_search import find_devices
        from holdfast.training.distribution import choose_strategy

        strategy = choose_strategy(peer_seconds)
        find_devices()
    return strategy


def import_parts(modules: Sequence[str] | None) -> None:
    """Load a user's modules; they may be the first to import TensorFlow."""
    if not modules:
        return
    set_environment()
    with _silent_stderr():
        load_parts(*modules)


def set_environment() -> None:
    """Set what TensorFlow reads when it is loaded, unless the user has set it."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    # By itself TensorFlow takes oneDNN's kernels only from AVX-512 VNNI on; they are faster on AVX2
    # too (docs/training.md), and with them memory is what the plan was calibrated with.
    if platform.machine().lower() in ("x86_64", "amd64"):
        os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    bound_reading()
    # Files are looked at one by one, each traced anew: no reason to warn of retracing.
    logging.getLogger("tensorflow").setLevel(logging.ERROR)


@contextmanager
def library_noise_caught() -> Iterator[None]:
    """Catch what native code writes to standard error; what is not known as noise comes afterwards.

    Python's own standard error goes on to where it went.
    """
    stream = sys.stderr
    if not isinstance(stream, io.TextIOWrapper) or stream.fileno() != 2:
        yield  # nobody sees file descriptor 2
        return
    stream.flush()
    with tempfile.TemporaryFile() as caught, os.fdopen(os.dup(2), "wb", 0) as terminal:
        os.dup2(caught.fileno(), 2)
        sys.stderr = io.TextIOWrapper(
            terminal, encoding=stream.encoding, errors="replace", write_through=True
        )
        try:
            yield
        finally:
            sys.stderr.detach()
            sys.stderr = stream
            os.dup2(terminal.fileno(), 2)
            caught.seek(0)
            lines = caught.read().decode(errors="replace").splitlines()
            for line in dict.fromkeys(each for each in lines if not _NOISE.search(each)):
                print(line, file=sys.stderr)


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
