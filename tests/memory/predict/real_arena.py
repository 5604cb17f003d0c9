"""What TensorFlow's allocator really does: python real_arena.py FOLDER.

Takes and frees large tensors, and prints each event as TensorFlow's profiler saw it, one JSON line
each: {"address", "requested", "chunk"}; requested is 0 when the tensor is freed.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def main(folder: Path) -> None:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=3, python_tracer_level=0)
    tf.profiler.experimental.start(str(folder), options=options)
    chance, held = random.Random(0), []
    for _ in range(400):
        if held and chance.random() < 0.48:
            held.pop(chance.randrange(len(held)))
        else:
            numbers = int(2 ** chance.uniform(16, 23))
            held.append(tf.raw_ops.Empty(shape=[numbers], dtype=tf.float32))
    tf.profiler.experimental.stop()
    for event in sorted(events(folder), key=lambda each: each.pop("time")):
        print(json.dumps(event))


def events(folder: Path) -> Iterator[dict[str, Any]]:
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    (path,) = folder.rglob("*.xplane.pb")
    plane = next(
        each
        for each in xplane_pb2.XSpace.FromString(path.read_bytes()).planes
        if each.name == "/host:CPU"
    )
    for line in plane.lines:
        for event in line.events:
            name = plane.event_metadata[event.metadata_id].name
            if name in ("MemoryAllocation", "MemoryDeallocation"):
                values = {
                    plane.stat_metadata[stat.metadata_id].name: stat.int64_value
                    or stat.uint64_value
                    for stat in event.stats
                }
                yield {
                    "time": line.timestamp_ns * 1000 + event.offset_ps,
                    "address": values["addr"],
                    "requested": values["requested_bytes"] if name == "MemoryAllocation" else 0,
                    "chunk": values["allocation_bytes"],
                }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
