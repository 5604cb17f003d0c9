"""The contract between backbone, neck and head: what a feature map is."""

from __future__ import annotations

from typing import NamedTuple


class Feature(NamedTuple):
    """One feature map (B, H / stride, W / stride, channels)."""

    stride: int  # pixels of the input from one cell to the next
    channels: int

    @property
    def level(self) -> int:
        """How often the input is halved: the stride is 2**level."""
        return self.stride.bit_length() - 1
