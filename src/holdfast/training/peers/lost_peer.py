"""A process that the others cannot go on without: who it is, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.training.cluster import worker_title
from holdfast.training.surviving.failure import TrainingFailedError

_AGAIN = (
    "Look at what it said last, then start all of them again with the same command: they resume "
    "after the last checkpoint."
)


class LostPeerError(TrainingFailedError):
    """Another process ended, or does not move any more."""


@dataclass(frozen=True, kw_only=True)
class LostPeer:
    """Who is lost, and why that is thought."""

    index: int
    why: str

    def error(self) -> LostPeerError:
        """Give what ends this process, too."""
        return LostPeerError(
            f"{worker_title(self.index)} {self.why}. None of the processes that train together can "
            "go on without it.",
            fix=_AGAIN,
        )
