"""The halves of the OD API: networks of one name differ in channels, bias and regularization."""

from __future__ import annotations

from typing import Literal

Generation = Literal["tf1", "tf2"]  # built with slim, built with Keras
