"""The preflight: every look at once, within its time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from holdfast.cloud.preflight.data_looks import (
    look_at_host_memory,
    look_at_speed,
    look_into_records,
)
from holdfast.cloud.preflight.flight import Flight, Outcome
from holdfast.cloud.preflight.machine_looks import look_at_batch, look_at_card, look_at_cluster
from holdfast.cloud.preflight.memory_looks import look_at_gpu_memory
from holdfast.cloud.preflight.path_looks import look_at_config, look_at_files, look_at_variables
from holdfast.cloud.preflight.run_looks import look_at_disk, look_at_interval, look_at_run
from holdfast.cloud.preflight.store_looks import (
    look_at_buckets,
    look_at_credentials,
    look_at_region,
    look_at_run_bucket,
)

LOOKS: tuple[Callable[[Flight], Iterator[Outcome]], ...] = (
    *(look_at_config, look_at_variables, look_at_files),
    *(look_at_card, look_at_gpu_memory, look_at_batch, look_at_cluster),
    *(look_at_credentials, look_at_region, look_at_buckets, look_at_run_bucket),
    *(look_into_records, look_at_speed, look_at_host_memory),
    *(look_at_run, look_at_disk, look_at_interval),
)


def preflight(flight: Flight) -> tuple[Outcome, ...]:
    """Look at everything; those that ask others or trace a step do so at the same time."""
    with ThreadPoolExecutor(len(LOOKS)) as pool:
        found = pool.map(lambda look: tuple(look(flight)), LOOKS)
        return tuple(dict.fromkeys(outcome for outcomes in found for outcome in outcomes))
