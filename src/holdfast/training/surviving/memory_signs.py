"""How libraries say that memory ran out, in errors and on standard error."""

from __future__ import annotations

LONGEST_LINE = 300  # letters
_SIGNS = (
    "out of memory",
    "out_of_memory",
    "oom when allocating",
    "failed to allocate",
    "cannot allocate memory",
    "bad_alloc",
    "memoryerror",
    "arena alloc failed",  # protobuf
    "alloc_failed",  # CUDNN_STATUS_ALLOC_FAILED and its kin
    "resource_exhausted",
    "pthread_create",  # a thread that cannot be started: no addresses are left for its stack
    "status: 1, message",  # dnnl_out_of_memory, as TensorFlow's oneDNN kernels pass it on
)


def speaks_of_memory(text: str) -> bool:
    """Tell whether a text says that memory ran out.

    >>> speaks_of_memory("terminate called after throwing an instance of 'std::bad_alloc'")
    True
    """
    lower = text.lower()
    return any(sign in lower for sign in _SIGNS)


def memory_line(text: str) -> str | None:
    """Give the first line that says that memory ran out, shortened; None if there is none."""
    lines = (line.strip() for line in text.splitlines())
    return next((line[:LONGEST_LINE] for line in lines if speaks_of_memory(line)), None)
