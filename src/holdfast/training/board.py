"""TensorBoard's files of a run: curves and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from holdfast.pictures import Pixels


class Board:
    """Draws curves and pictures; without a folder, nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._writer: Any = (
            tf.summary.create_noop_writer()
            if folder is None
            else tf.summary.create_file_writer(str(folder))
        )

    def draw(self, step: int, values: Mapping[str, float]) -> None:
        """Continue each curve by a point."""
        with self._writer.as_default():
            for name, value in values.items():
                tf.summary.scalar(name, value, step)

    def show(self, step: int, pictures: Mapping[str, Pixels]) -> None:
        """Add pictures of a step."""
        with self._writer.as_default():
            for name, picture in pictures.items():
                tf.summary.image(name, picture[None], step)

    def flush(self) -> None:
        """Write what is kept back."""
        self._writer.flush()

    def close(self) -> None:
        """Write the rest."""
        self._writer.close()
