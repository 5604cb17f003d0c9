"""A server on this machine that gives files as the network does: cut, late, or not at all."""

from __future__ import annotations

import re
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Loopback:
    """Serves `files` by path; what is to go wrong next is in `cuts` and `answers`."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.moved: dict[str, str] = {}
        self.cuts: deque[int] = deque()  # bytes after which the next connections end
        self.answers: deque[int] = deque()  # status of the next answers, instead of the file
        self.lies: int = 0  # so many bytes more are announced than the file has
        self.has_ranges = True
        self.ranges: list[str | None] = []  # that were asked for
        owner = self

        class Handler(_Handler):
            loopback = owner

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Loopback:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    loopback: Loopback

    def do_GET(self) -> None:
        server = self.loopback
        server.ranges.append(self.headers.get("Range"))
        if server.answers:
            self._say(server.answers.popleft())
        elif self.path in server.moved:
            self.send_response(302)
            self.send_header("Location", server.moved[self.path])
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path not in server.files:
            self._say(404)
        else:
            self._give(server.files[self.path])

    def _say(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _give(self, content: bytes) -> None:
        server, mark = self.loopback, f'"{hash(content)}"'
        first = 0
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        if asked and server.has_ranges and self.headers.get("If-Range") in (None, mark):
            first = int(asked[1])
        self.send_response(206 if first else 200)
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        self.send_header("ETag", mark)
        self.send_header("Content-Length", str(len(content) - first + server.lies))
        self.end_headers()
        end = first + server.cuts.popleft() if server.cuts else len(content)
        self.wfile.write(content[first:end])

    def log_message(self, *values: object) -> None:
        pass
