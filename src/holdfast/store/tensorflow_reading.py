"""How TensorFlow's own file system reads gs://: it looks at the environment when it is loaded."""

from __future__ import annotations

import os

_BLOCK = "GCS_READ_CACHE_BLOCK_SIZE_MB"
# TensorFlow's own: blocks of 64 MiB for each open file, and ten tries, minutes in all.
_SETTINGS = {
    _BLOCK: "8",
    "GCS_RETRY_CONFIG_MAX_RETRIES": "3",
    "GCS_RETRY_CONFIG_INIT_DELAY_TIME_US": "500000",
    "GCS_RETRY_CONFIG_MAX_DELAY_TIME_US": "4000000",
    "GCS_REQUEST_CONNECTION_TIMEOUT_SECS": "5",
    "GCS_REQUEST_IDLE_TIMEOUT_SECS": "10",
    "GCS_METADATA_REQUEST_TIMEOUT_SECS": "10",
}


def bound_reading() -> None:
    """Bound the memory and the time that a reading takes, unless the user has set them."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)


def block_bytes() -> int:
    """Give what each open file holds, as it is set."""
    text = os.environ.get(_BLOCK, "")
    return int(text if text.isdecimal() else 64) << 20
