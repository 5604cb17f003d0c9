"""The backbones that a detector can be built on, by name."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.models.backbones.backbone import Backbone
from holdfast.registry import Registry

# name -> factory(endpoints, *, settings=None, name="backbone", keywords of the network)
BACKBONES: Registry[Callable[..., Backbone]] = Registry("backbone")
