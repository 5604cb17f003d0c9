"""The type of a tensor."""

from __future__ import annotations

from typing import Any

# Keras has no type that stands for eager and symbolic tensors of its backend alike.
Tensor = Any
