"""What the tests of sources share: images made on the spot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

MakeImage = Callable[..., bytes]


@pytest.fixture
def make_image() -> MakeImage:
    """Write an image of random pixels and give its bytes."""

    def make(path: Path, width: int, height: int, *, seed: int = 0, **options: object) -> bytes:
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
        Image.fromarray(pixels).save(path, **options)
        return path.read_bytes()

    return make
