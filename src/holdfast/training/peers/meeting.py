"""The meeting at the start: every process comes to the first one, or is missed by its name.

TensorFlow's own would wait forever, and hear no signal meanwhile. The first process listens at its
address of TF_CONFIG, which TensorFlow takes over as soon as all are there; the connections stay.
"""

from __future__ import annotations

import contextlib
import hashlib
import selectors
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from holdfast.errors import HoldfastError
from holdfast.training.peers.lost_peer import LostPeerError
from holdfast.training.peers.wire import PeerMessage, receive, send
from holdfast.units import count_text

_TRY_SECONDS = 0.2
_HELLO_SECONDS = 5.0  # for the first words of someone who came
_NOBODY = [-1]  # is missing


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """All processes that train together, and which one this is."""

    addresses: Sequence[str]
    index: int

    @property
    def digest(self) -> str:
        """What processes of one cluster have in common, and those of another have not."""
        return hashlib.sha256("\n".join(self.addresses).encode()).hexdigest()

    @property
    def others(self) -> set[int]:
        """The numbers of the other processes."""
        return set(range(len(self.addresses))) - {self.index}

    def titles(self, indexes: Sequence[int]) -> str:
        """Name some of them."""
        return ", ".join(f"worker {index} ({self.addresses[index]})" for index in indexes)


def meet(cluster: Cluster, seconds: float) -> dict[int, socket.socket]:
    """Wait until all are there; give the connections, of the first process to each other one.

    The others have one connection, to the first. LostPeerError names who is missing.
    """
    deadline = time.monotonic() + seconds
    if cluster.index:
        return {0: _come(cluster, deadline, seconds)}
    return _Hall(cluster=cluster).wait(deadline, seconds)


def _come(cluster: Cluster, deadline: float, seconds: float) -> socket.socket:
    """Go to the first process, and wait there for the others."""
    missing = [0]
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            connection = socket.create_connection(_place(cluster.addresses[0]), _HELLO_SECONDS)
            connection.settimeout(max(0.1, deadline - time.monotonic()))
            missing = _told_missing(cluster, connection) or missing
            if missing == _NOBODY:
                connection.settimeout(None)
                return connection
            connection.close()
        time.sleep(_TRY_SECONDS)
    raise _missed(cluster, missing, seconds)


def _told_missing(cluster: Cluster, connection: socket.socket) -> list[int]:
    """Say who this is, and hear who is missing, until nobody is or the connection ends."""
    missing: list[int] = []
    try:
        send(connection, PeerMessage("hello", {"of": cluster.digest, "index": cluster.index}))
    except OSError:
        return missing
    while message := receive(connection):
        if message.kind == "go":
            return _NOBODY
        missing = list(message.values["missing"])
    return missing


@dataclass(kw_only=True)
class _Hall:
    """Where the first process waits for the others."""

    cluster: Cluster
    here: dict[int, socket.socket] = field(default_factory=dict)
    came: set[int] = field(default_factory=set)  # also who left again

    def wait(self, deadline: float, seconds: float) -> dict[int, socket.socket]:
        with self._door() as door, selectors.DefaultSelector() as watch:
            watch.register(door, selectors.EVENT_READ)
            while self.missing and time.monotonic() < deadline:
                for key, _ in watch.select(_TRY_SECONDS):
                    if key.fileobj is door:
                        self._let_in(door, watch)
                    else:
                        self._let_go(key.data, watch)
        if self.missing:
            # Who came and left again, because somebody else was missing, is not to blame.
            missing = sorted(set(self.missing) - self.came) or self.missing
            self._tell_missing()
            for connection in self.here.values():
                connection.close()
            raise _missed(self.cluster, missing, seconds)
        # The door is closed before anybody goes on: behind it TensorFlow takes the address.
        for connection in self.here.values():
            send(connection, PeerMessage("go", {}))
        return self.here

    @property
    def missing(self) -> list[int]:
        return sorted(self.cluster.others - set(self.here))

    def _door(self) -> socket.socket:
        door = socket.socket()
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        port = _place(self.cluster.addresses[0])[1]
        try:
            door.bind(("", port))
        except OSError as error:
            door.close()
            raise HoldfastError(
                f"Port {port} of this machine, which TF_CONFIG gives the first process, cannot be "
                f"used: {error.strerror}.",
                fix="End what uses it (a process of an earlier training?), or name another port "
                "in TF_CONFIG.",
            ) from None
        door.listen(len(self.cluster.addresses))
        return door

    def _let_in(self, door: socket.socket, watch: selectors.DefaultSelector) -> None:
        """Hear who came; whoever is not of this cluster is sent away."""
        connection, _ = door.accept()
        connection.settimeout(_HELLO_SECONDS)
        hello = receive(connection)
        is_ours = hello is not None and hello.values.get("of") == self.cluster.digest
        index = hello.values.get("index") if hello is not None and is_ours else None
        if index not in self.missing:
            connection.close()
            return
        connection.settimeout(None)
        self.here[index] = connection
        self.came.add(index)
        watch.register(connection, selectors.EVENT_READ, index)
        self._tell_missing()

    def _let_go(self, index: int, watch: selectors.DefaultSelector) -> None:
        """Forget someone who left again: nobody says a second word before all are there."""
        connection = self.here.pop(index)
        watch.unregister(connection)
        connection.close()
        self._tell_missing()

    def _tell_missing(self) -> None:
        for connection in self.here.values():
            with contextlib.suppress(OSError):
                send(connection, PeerMessage("waiting", {"missing": self.missing}))


def _missed(cluster: Cluster, missing: Sequence[int], seconds: float) -> LostPeerError:
    return LostPeerError(
        f"After {seconds:g} s, {count_text(len(missing), 'process', 'processes')} of the "
        f"{len(cluster.addresses)} in TF_CONFIG did not come: {cluster.titles(missing)}.",
        fix="Start all of them, with the same TF_CONFIG but for the task; see that machines reach "
        "each other at these addresses. --peer-timeout says how long to wait.",
    )


def _place(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        raise HoldfastError(
            f"TF_CONFIG names {address}, which has no port.", fix="Write it as HOST:PORT."
        )
    return host.strip("[]") or "localhost", int(port)
