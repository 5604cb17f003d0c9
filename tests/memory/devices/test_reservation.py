"""What is reserved is there in one piece, and costs next to nothing until it is used."""

from __future__ import annotations

import json
import os
import subprocess
import sys

PROGRAM = """
import json, tensorflow as tf
from holdfast.memory.devices.host import resident_bytes
from holdfast.memory.devices.reservation import reserve

def mapped():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmSize:"))

tf.zeros(()).numpy()
before = resident_bytes(), mapped()
reserve(3 * 2**29)
reserve(2**62)  # more than there is: nothing happens
after = resident_bytes(), mapped()
tensors = [tf.raw_ops.Empty(shape=[2**28], dtype=tf.float32, init=False)]
print(json.dumps([after[0] - before[0], after[1] - before[1], mapped() - after[1]]))
"""


def test_a_reservation_takes_addresses_and_hardly_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"TF_ENABLE_ONEDNN_OPTS": "1"},  # which brings the arena
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    touched, reserved, more = json.loads(done.stdout)
    assert touched < 0.05 * 2**31
    assert reserved >= 3 * 2**29
    assert more < 2**29  # a tensor of 1 GiB lies in what was reserved
