"""A Cloud Storage of the tests' own, on loopback: what TensorFlow and Google's client ask for.

TensorFlow's addresses cannot be changed, so it comes through a proxy that ends TLS for
*.googleapis.com with a certificate of its own; Google's client obeys STORAGE_EMULATOR_HOST.
"""

from __future__ import annotations

import base64
import itertools
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlsplit

import google_crc32c
import trustme

CUT, HANG = "cut", "hang"  # instead of an answer: the connection is closed, or nothing is said
_BLOCK = 1 << 16


class Request(NamedTuple):
    method: str
    path: str  # without its query, unquoted
    query: dict[str, str]


class Stored(NamedTuple):
    content: bytes
    generation: int
    updated: str


Fault = Callable[[Request], "int | str | None"]  # a status, CUT, HANG; None: no fault


@dataclass
class FakeStore:
    """Buckets in memory; faults and slowness are set by the test at any time."""

    objects: dict[str, dict[str, Stored]] = field(default_factory=dict)
    fault: Fault = lambda request: None
    delay_seconds: float = 0.0  # before each answer
    bytes_per_second: float = float("inf")  # of each connection
    requests: list[Request] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)  # of a process that is to use it
    _generations: Iterator[int] = field(default_factory=lambda: itertools.count(1000))
    _sessions: dict[str, tuple[str, str, dict[str, str], bytearray]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def put(self, bucket: str, name: str, content: bytes) -> Stored:
        with self._lock:
            now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
            stored = Stored(bytes(content), next(self._generations), now)
            self.objects.setdefault(bucket, {})[name] = stored
            return stored

    def put_folder(self, bucket: str, prefix: str, folder: Path) -> None:
        """Upload a folder of this machine."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(bucket, f"{prefix}/{path.relative_to(folder)}", path.read_bytes())

    def names(self, bucket: str, prefix: str = "") -> list[str]:
        with self._lock:
            return sorted(name for name in self.objects.get(bucket, {}) if name.startswith(prefix))


@contextmanager
def fake_store(folder: Path, *buckets: str) -> Iterator[FakeStore]:
    """Serve buckets until the end of the block; folder: for the certificate."""
    store = FakeStore(objects={bucket: {} for bucket in buckets})
    authority = trustme.CA()
    certificate = authority.issue_cert("*.googleapis.com", "googleapis.com")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    bundle = folder / "fake-store.pem"
    authority.cert_pem.write_to_path(str(bundle))
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"tls": context}))
    server.store = store
    store.environment.update(environment(f"127.0.0.1:{server.server_address[1]}", bundle))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def environment(address: str, bundle: Path) -> dict[str, str]:
    """Give the variables by which a process finds a store at an address."""
    return {
        "HTTPS_PROXY": f"http://{address}",
        "CURL_CA_BUNDLE": str(bundle),
        "GOOGLE_AUTH_TOKEN_FOR_TESTING": "token",
        "NO_GCE_CHECK": "true",
        "STORAGE_EMULATOR_HOST": f"http://{address}",
        "GOOGLE_CLOUD_PROJECT": "tests",
    }


def dead_environment(folder: Path) -> dict[str, str]:
    """Give the variables of a store where nobody listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    bundle = folder / "dead-store.pem"
    trustme.CA().cert_pem.write_to_path(str(bundle))
    return environment(f"127.0.0.1:{port}", bundle)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    store: FakeStore

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: killed clients are what the tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60  # nobody is waited for longer
    tls: ssl.SSLContext
    server: _Server

    def log_message(self, *arguments: Any) -> None:
        """Write no log."""

    def do_CONNECT(self) -> None:
        self.send_response(200, "Connection established")
        self.end_headers()
        self.wfile.flush()
        self.connection = self.tls.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb", -1)
        self.wfile = self.connection.makefile("wb", 0)
        self.close_connection = False

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query, True).items()}
        request = Request(self.command, unquote(parts.path), query)
        store = self.server.store
        store.requests.append(request)
        fault = store.fault(request)
        if fault == HANG:
            time.sleep(60)
        if fault in (CUT, HANG):
            self.close_connection = True
            self.connection.close()
            return
        body = self._body()
        time.sleep(store.delay_seconds)
        if isinstance(fault, int):
            self._answer(fault, {"error": {"code": fault, "message": "a fault of the test"}})
            return
        self._route(request, parts.path, body)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = _serve  # noqa: N815

    def _body(self) -> bytes:
        """Read what was sent; libcurl names a length and sends chunks, and the chunks count."""
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            content = bytearray()
            while size := int(self.rfile.readline().split(b";")[0], 16):
                content += self._slowly(size)
                self.rfile.readline()
            self.rfile.readline()
            return bytes(content)
        return self._slowly(int(self.headers.get("Content-Length") or 0))

    def _slowly(self, size: int) -> bytes:
        content = bytearray()
        while len(content) < size:
            block = self.rfile.read(min(_BLOCK, size - len(content)))
            if not block:
                raise ConnectionError("the client is gone")
            content += block
            time.sleep(len(block) / self.server.store.bytes_per_second)
        return bytes(content)

    def _answer(
        self, status: int, content: Any = b"", headers: dict[str, str] | None = None
    ) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for start in range(0, len(body), _BLOCK):
            block = body[start : start + _BLOCK]
            self.wfile.write(block)
            time.sleep(len(block) / self.server.store.bytes_per_second)

    def _route(self, request: Request, raw_path: str, body: bytes) -> None:
        for method, pattern, handle in _ROUTES:
            if request.method == method and (match := re.fullmatch(pattern, raw_path)):
                handle(self, [unquote(each) for each in match.groups()], request.query, body)
                return
        self._answer(404, {"error": {"code": 404, "message": f"no such address {raw_path}"}})

    def _bucket(self, names: list[str], query: dict[str, str], body: bytes) -> None:
        if names[0] in self.server.store.objects:
            self._answer(200, {"kind": "storage#bucket", "name": names[0], "location": "US"})
        else:
            self._missing(names[0])

    def _missing(self, what: str) -> None:
        self._answer(404, {"error": {"code": 404, "message": f"{what} does not exist"}})

    def _list(self, names: list[str], query: dict[str, str], body: bytes) -> None:
        store, (bucket,) = self.server.store, names
        if bucket not in store.objects:
            self._missing(bucket)
            return
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        entries: dict[str, bool] = {}  # name or prefix -> whether it is a prefix
        for name in store.names(bucket, prefix):
            inside, mark, _ = name[len(prefix) :].partition(delimiter or "\0")
            is_folder = bool(delimiter and mark)
            entries[prefix + inside + mark if is_folder else name] = is_folder
        first = query.get("pageToken", "")
        most = int(query.get("maxResults", 1000))
        left = [name for name in sorted(entries) if name > first]
        page, rest = left[:most], left[most:]
        found = [name for name in page if not entries[name]]
        answer: dict[str, Any] = {
            "kind": "storage#objects",
            "items": [_resource(bucket, name, store.objects[bucket][name]) for name in found],
            "prefixes": [name for name in page if entries[name]],
        }
        self._answer(200, answer | ({"nextPageToken": page[-1]} if rest else {}))

    def _stat(self, names: list[str], query: dict[str, str], body: bytes) -> None:
        bucket, name = names
        stored = self.server.store.objects.get(bucket, {}).get(name)
        if stored is None:
            self._missing(name)
        elif query.get("alt") == "media":
            self._media(names, query, body)
        else:
            self._answer(200, _resource(bucket, name, stored))

    def _media(self, names: list[str], query: dict[str, str], body: bytes) -> None:
        bucket, name = names
        stored = self.server.store.objects.get(bucket, {}).get(name)
        if stored is None:
            self._missing(name)
            return
        headers = {"x-goog-generation": str(stored.generation)}
        total = len(stored.content)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted is None:
            headers["x-goog-hash"] = f"crc32c={_crc(stored.content)}"
            self._answer(200, stored.content, headers)
            return
        start, end = int(wanted[1]), min(int(wanted[2] or total - 1), total - 1)
        if start >= total:
            self._answer(416, b"", headers)
            return
        headers["Content-Range"] = f"bytes {start}-{end}/{total}"
        self._answer(206, stored.content[start : end + 1], headers)

    def _begin(self, names: list[str], query: dict[str, str], body: bytes) -> None:
        store, (bucket,) = self.server.store, names
        if bucket not in store.objects:
            self._missing(bucket)
            return
        if query["uploadType"] == "multipart":
            metadata, content = _parts(self.headers["Content-Type"], body)
            self._put(bucket, query.get("name") or metadata["name"], query, content)
            return
        described = json.loads(body) if body.strip() else {}
        name = query.get("name") or described["name"]
        number = f"session-{len(store._sessions)}"
        store._sessions[number] = (bucket, name, query, bytearray())
        host = self.headers["Host"]
        scheme = "https" if host.endswith("googleapis.com") else "http"
        place = f"{scheme}://{host}/upload/storage/v1/b/{quote(bucket)}/o?upload_id={number}"
        self._answer(200, b"", {"Location": place})

    def _continue(self, names: list[str], query: dict[str, str], body: bytes) -> None:
        bucket, name, asked, content = self.server.store._sessions[query["upload_id"]]
        ranges = self.headers.get("Content-Range", f"bytes 0-{len(body) - 1}/{len(body)}")
        match = re.fullmatch(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)", ranges)
        assert match is not None, ranges
        if match[1] is not None:
            del content[int(match[1]) :]
            content += body
        if match[3] != "*" and len(content) == int(match[3]):
            self._put(bucket, name, asked, bytes(content))
        else:
            kept = {"Range": f"bytes=0-{len(content) - 1}"} if content else {}
            self._answer(308, b"", kept)

    def _put(self, bucket: str, name: str, query: dict[str, str], content: bytes) -> None:
        store = self.server.store
        with store._lock:
            if self._is_refused(bucket, name, query):
                return
            stored = store.put(bucket, name, content)
        self._answer(200, _resource(bucket, name, stored))

    def _is_refused(self, bucket: str, name: str, query: dict[str, str]) -> bool:
        """Answer 412 if the object is not of the generation that was asked for; 0: none."""
        wanted = query.get("ifGenerationMatch")
        stored = self.server.store.objects[bucket].get(name)
        if wanted is None or int(wanted) == (stored.generation if stored else 0):
            return False
        self._answer(412, {"error": {"code": 412, "message": "conditionNotMet"}})
        return True

    def _delete(self, names: list[str], query: dict[str, str], body: bytes) -> None:
        store, (bucket, name) = self.server.store, names
        with store._lock:
            if name not in store.objects.get(bucket, {}):
                self._missing(name)
                return
            if self._is_refused(bucket, name, query):
                return
            del store.objects[bucket][name]
        self._answer(204)

    def _rewrite(self, names: list[str], query: dict[str, str], body: bytes) -> None:
        store, (bucket, name, target_bucket, target) = self.server.store, names
        source = store.objects.get(bucket, {}).get(name)
        if source is None:
            self._missing(name)
            return
        stored = store.put(target_bucket, target, source.content)
        resource = _resource(target_bucket, target, stored)
        self._answer(200, {"done": True, "resource": resource})


_V1 = "/storage/v1/b/([^/]+)"
_ROUTES: list[tuple[str, str, Callable[..., None]]] = [
    ("GET", _V1, _Handler._bucket),
    ("GET", f"{_V1}/o/?", _Handler._list),
    ("GET", f"(?:/download)?{_V1}/o/(.+)", _Handler._stat),
    ("POST", f"{_V1}/o/(.+)/rewriteTo/b/([^/]+)/o/(.+)", _Handler._rewrite),
    ("DELETE", f"{_V1}/o/(.+)", _Handler._delete),
    ("POST", f"(?:/upload|/resumable/upload){_V1}/o", _Handler._begin),
    ("PUT", f"(?:/upload|/resumable/upload){_V1}/o", _Handler._continue),
    ("GET", "/([a-z0-9._-]+)/(.+)", _Handler._media),  # as TensorFlow reads
]


def _resource(bucket: str, name: str, stored: Stored) -> dict[str, str]:
    return {
        "kind": "storage#object",
        "bucket": bucket,
        "name": name,
        "size": str(len(stored.content)),
        "generation": str(stored.generation),
        "updated": stored.updated,
        "crc32c": _crc(stored.content),
    }


def _crc(content: bytes) -> str:
    return base64.b64encode(google_crc32c.Checksum(content).digest()).decode()


def _parts(content_type: str, body: bytes) -> tuple[dict[str, str], bytes]:
    """Take a multipart upload apart: what it is called, and what is in it."""
    boundary = re.search(r'boundary="?([^";]+)"?', content_type)
    assert boundary is not None
    _, first, second, _ = body.split(b"--" + boundary[1].encode(), 3)
    metadata = json.loads(first.split(b"\r\n\r\n", 1)[1])
    return metadata, second.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n")
