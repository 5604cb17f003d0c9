"""The other processes of a training, watched from a thread: who is there, what each is doing.

Every process is connected to the first one, which passes on what it hears. An exchange of values is
how they agree; whoever ends, freezes or gets stuck is known by its name, also while this process
waits inside of TensorFlow. If TensorFlow does not end that wait by itself, the thread ends the
process: nothing of a run is lost by that, and a machine that waits for nobody is paid for.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.training.peers.lost_peer import LostPeer, LostPeerError
from holdfast.training.peers.wire import PeerMessage, receive, send

WAITING = "waits for the others"
COMPUTING = "computes step"
_BEAT_SECONDS = 1.0
_SILENT_SECONDS = 45.0  # without a beat; some libraries let no other thread run for many seconds
_NAMING_SECONDS = 20.0  # between TensorFlow's word that someone is gone, and ours who it is
_SUSPECT_SECONDS = 4.0  # without a beat, when TensorFlow says that someone is gone
_FROZEN_SECONDS = 5.0
_GRACE_SECONDS = 20.0  # between the loss of a process, and the end of this one by the thread
_FAILED = 1  # exit code


@dataclass
class _Peer:
    """What is known of one process."""

    heard_at: float  # when it last said anything; all times are this process' time.monotonic
    moved_at: float  # when it last began something
    doing: str = "starts"
    has_left: bool = False

    @property
    def is_waiting(self) -> bool:
        """Tell whether it is not to blame: it waits itself, maybe inside of TensorFlow."""
        return self.doing == WAITING or self.doing.startswith(COMPUTING)


class Peers:
    """The others; every process must call `exchange` and `gather` in the same order."""

    def __init__(
        self, connections: Mapping[int, socket.socket], *, index: int, count: int, seconds: float
    ) -> None:
        """Begin to watch; seconds: how long one may do nothing while others wait for it."""
        now = time.monotonic()
        self.index = index
        self.count = count
        self._seconds = seconds
        self._connections = dict(connections)
        self._locks = {each: threading.Lock() for each in connections}
        self._peers = {each: _Peer(now, now) for each in range(count)}
        self._changed = threading.Condition()
        self._lost: LostPeer | None = None
        self._lost_at = 0.0
        self._is_told = False  # that one is lost: this process is ending by itself
        self._number = 0  # of the exchange
        self._values: dict[int, dict[int, tuple[Any, bytes]]] = {}  # by exchange and process
        for each in connections:
            threading.Thread(target=self._listen, args=(each,), daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def is_chief(self) -> bool:
        """Tell whether this is the first process."""
        return self.index == 0

    def doing(self, what: str) -> None:
        """Say what this process begins to do, as a sign of life."""
        own = self._peers[self.index]
        own.doing, own.moved_at = what, time.monotonic()

    def exchange(self, value: Any) -> list[Any]:
        """Give the values of all processes, by their numbers, when all have given one."""
        return [each for each, _ in self._exchanged(value, b"")]

    def gather(self, content: bytes) -> list[bytes]:
        """Give the first process the contents of all; the others get none but their own."""
        return [each for _, each in self._exchanged(None, content)]

    def _exchanged(self, value: Any, content: bytes) -> list[tuple[Any, bytes]]:
        number, self._number = self._number, self._number + 1
        before = self._peers[self.index].doing
        self.doing(WAITING)
        self._take(self.index, number, value, content)
        if not self.is_chief:
            values = {"number": number, "value": value}
            self._send(0, PeerMessage("value", values, content))
        found = self._wait(number)
        self.doing(before)
        return [found[each] for each in range(self.count)]

    def _wait(self, number: int) -> dict[int, tuple[Any, bytes]]:
        with self._changed:
            while len(self._values.get(number, {})) < self.count:
                self._changed.wait(0.2)  # a signal is heard at least so often
                self._refuse_lost()
                self._find_stuck(set(self._peers))
                self._find_left(set(self._peers) - set(self._values.get(number, {})))
            return self._values.pop(number)

    def _take(self, index: int, number: int, value: Any, content: bytes) -> None:
        """Keep a value; the first process passes on all of them once it has them."""
        with self._changed:
            known = self._values.setdefault(number, {})
            known[index] = value, content
            self._changed.notify_all()
            is_whole = self.is_chief and len(known) == self.count
            values = {each: found for each, (found, _) in known.items()}
        if is_whole:
            whole = [values[each] for each in range(self.count)]
            self._tell_all(PeerMessage("values", {"number": number, "values": whole}))

    # What goes wrong

    def name_lost(self) -> LostPeerError | None:
        """Say who is lost, when TensorFlow says that someone is; None if nobody can be named.

        TensorFlow may know it some seconds before us, and the other way round.
        """
        deadline = time.monotonic() + _NAMING_SECONDS
        with self._changed:
            while self._lost is None and time.monotonic() < deadline:
                for index, peer in self._others():
                    self._find_silent(index, peer, _SUSPECT_SECONDS)
                self._find_stuck(set(self._peers), self._seconds / 2)
                self._changed.wait(0.2)
            self._is_told = True
        return self._lost.error() if self._lost is not None else None

    def leave(self, why: str = "") -> None:
        """Tell the others that this process ends; why: it failed."""
        with self._changed:
            lost, self._is_told = self._lost, True
        culprit, why = (lost.index, lost.why) if lost is not None and why else (self.index, why)
        self._tell_all(PeerMessage("bye", {"index": culprit, "why": why}))

    def _others(self) -> list[tuple[int, _Peer]]:
        # Beats of others come through the first process.
        return [(each, peer) for each, peer in self._peers.items() if each != self.index]

    def _refuse_lost(self) -> None:
        if self._lost is not None:
            self._is_told = True
            raise self._lost.error()

    def _find_stuck(self, among: set[int], seconds: float | None = None) -> None:
        """Lose who has done nothing for too long, though others wait for it."""
        for index, peer in self._others():
            still = time.monotonic() - peer.moved_at
            if index in among and not peer.is_waiting and still > (seconds or self._seconds):
                self._lose(index, f"has not moved for {still:.0f} s: it {peer.doing}")

    def _find_silent(self, index: int, peer: _Peer, seconds: float) -> None:
        silence = time.monotonic() - peer.heard_at
        if silence > seconds and not peer.has_left:
            why = f"has not answered for {silence:.0f} s: it is frozen, or cannot be reached"
            self._lose(index, why)

    def _find_left(self, among: set[int]) -> None:
        for index, peer in self._others():
            if index in among and peer.has_left:
                self._lose(index, "ended before the others")

    def _lose(self, index: int, why: str) -> None:
        """Note the first process that is lost: the others follow from it."""
        if self._lost is None:
            self._lost, self._lost_at = LostPeer(index=index, why=why), time.monotonic()
            self._changed.notify_all()

    # The threads

    def _listen(self, index: int) -> None:
        """Hear what comes from one connection until it ends."""
        while message := receive(self._connections[index]):
            self._hear(index, message)
        with self._changed:
            if not self._peers[index].has_left:
                self._lose(index, "ended without a word (killed, or out of memory?)")
        self._pass_on_loss()

    def _hear(self, index: int, message: PeerMessage) -> None:
        values = message.values
        with self._changed:
            self._peers[index].heard_at = time.monotonic()
        match message.kind:
            case "beat":
                self._note(values["peers"])
            case "value":
                self._take(index, values["number"], values["value"], message.content)
            case "values":
                for each, value in enumerate(values["values"]):
                    if each != self.index:
                        self._take(each, values["number"], value, b"")
            case "lost" | "bye":
                with self._changed:
                    self._peers[index].has_left = message.kind == "bye"
                    if values["why"]:
                        self._lose(values["index"], values["why"])
                self._pass_on_loss()

    def _note(self, peers: Mapping[str, Any]) -> None:
        """Take in what processes say of themselves, some of it through the first one."""
        now = time.monotonic()
        with self._changed:
            for name, (doing, still, silent) in peers.items():
                peer = self._peers[int(name)]
                if int(name) != self.index:
                    peer.doing, peer.moved_at, peer.heard_at = doing, now - still, now - silent

    def _watch(self) -> None:
        """Tell the others that this process lives; end it when it cannot end by itself."""
        while not self._is_told:
            slept = time.monotonic()
            time.sleep(_BEAT_SECONDS)
            if time.monotonic() - slept > _FROZEN_SECONDS:
                continue  # this process was frozen itself: what the others said is still to be read
            self._tell_all(PeerMessage("beat", {"peers": self._known()}))
            with self._changed:
                for index, peer in self._others():
                    self._find_silent(index, peer, _SILENT_SECONDS)
                own = self._peers[self.index]
                late = self._seconds + _GRACE_SECONDS  # TensorFlow should have given up by itself
                if own.is_waiting and time.monotonic() - own.moved_at > late:
                    self._find_stuck(set(self._peers), late)
            self._end_if_stuck()

    def _known(self) -> dict[str, Any]:
        now = time.monotonic()
        with self._changed:
            told = self._peers if self.is_chief else {self.index: self._peers[self.index]}
            self._peers[self.index].heard_at = now
            return {
                str(index): (peer.doing, now - peer.moved_at, now - peer.heard_at)
                for index, peer in told.items()
            }

    def _end_if_stuck(self) -> None:
        is_late = time.monotonic() - self._lost_at > _GRACE_SECONDS
        if self._lost is None or self._is_told or not is_late:
            return
        error = self._lost.error()
        self._tell_all(PeerMessage("bye", {"index": self._lost.index, "why": self._lost.why}))
        print(f"{error.message}\n→ {error.fix}", file=sys.stderr, flush=True)
        os._exit(_FAILED)

    def _pass_on_loss(self) -> None:
        """Let the others know at once whom this process lost; only the first one knows all."""
        if self.is_chief and self._lost is not None:
            values = {"index": self._lost.index, "why": self._lost.why}
            self._tell_all(PeerMessage("lost", values))

    def _tell_all(self, message: PeerMessage) -> None:
        for index in self._connections:
            self._send(index, message)

    def _send(self, index: int, message: PeerMessage) -> None:
        try:
            with self._locks[index]:
                send(self._connections[index], message)
        except OSError:
            pass  # who listens to this connection knows it too
