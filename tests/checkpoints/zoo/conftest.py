from __future__ import annotations

import pytest

from holdfast.checkpoints.zoo import download

from .loopback import Loopback


@pytest.fixture
def server(monkeypatch):
    """A server on loopback; nobody waits before trying again."""
    monkeypatch.setattr(download, "PAUSE_SECONDS", 0.0)
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "HOLDFAST_MIRROR"):
        monkeypatch.delenv(name, raising=False)
    with Loopback() as loopback:
        yield loopback


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of its own."""
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "weights"
