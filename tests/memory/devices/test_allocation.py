from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = "from holdfast.memory.devices.allocation import has_arena; print(has_arena())"


@pytest.mark.parametrize(("uses_onednn", "said"), [("1", "True"), ("0", "False")])
def test_there_is_an_arena_where_tensorflow_uses_onednn(uses_onednn, said):
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"TF_ENABLE_ONEDNN_OPTS": uses_onednn},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split()[-1] == said
