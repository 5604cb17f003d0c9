"""How memory is taken from the system: the settings a training runs with, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping

THRESHOLD_VARIABLE = "MALLOC_MMAP_THRESHOLD_"
THRESHOLD_BYTES = 65536  # blocks from this size on are mapped one by one, and unmapped when freed

# TensorFlow's allocator on a CPU takes tensors from this size on out of an arena of its own, which
# never gives memory back; smaller ones come from the C library.
ARENA_BYTES = 262144

ENVIRONMENT: Mapping[str, str] = {THRESHOLD_VARIABLE: str(THRESHOLD_BYTES)}
