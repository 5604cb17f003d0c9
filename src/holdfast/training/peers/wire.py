"""Messages between processes that train together: JSON, and bytes where there are many numbers."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any, NamedTuple

_LENGTHS = struct.Struct(">IQ")  # of the JSON text and of the bytes
_MOST_JSON_BYTES = 2**26  # more is not one of ours


class PeerMessage(NamedTuple):
    """What one process tells another."""

    kind: str
    values: dict[str, Any]
    content: bytes = b""


def send(connection: socket.socket, message: PeerMessage) -> None:
    """Send a message whole; OSError if the other end is gone."""
    text = json.dumps([message.kind, message.values]).encode()
    connection.sendall(_LENGTHS.pack(len(text), len(message.content)) + text + message.content)


def receive(connection: socket.socket) -> PeerMessage | None:
    """Wait for a message; None if the other end is gone, or is not one of ours."""
    try:
        head = _exactly(connection, _LENGTHS.size)
        text_bytes, content_bytes = _LENGTHS.unpack(head) if head else (0, 0)
        if not 0 < text_bytes <= _MOST_JSON_BYTES:
            return None
        kind, values = json.loads(_exactly(connection, text_bytes))
        content = _exactly(connection, content_bytes) if content_bytes else b""
    except (OSError, ValueError):
        return None
    return PeerMessage(str(kind), values, content) if len(content) == content_bytes else None


def _exactly(connection: socket.socket, count: int) -> bytes:
    """Read so many bytes; b"" if the other end is gone before."""
    parts = bytearray()
    while len(parts) < count:
        part = connection.recv(min(count - len(parts), 2**20))
        if not part:
            return b""
        parts += part
    return bytes(parts)
