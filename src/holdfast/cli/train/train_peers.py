"""The other processes of TF_CONFIG, as `holdfast train` meets them and leaves without them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def meet_peers(terminal: Console, seconds: float) -> None:
    """Wait for the others before TensorFlow is loaded, which would wait forever."""
    from holdfast.training.cluster import num_workers, worker_index

    if num_workers() <= 1:
        return
    from rich.text import Text

    from holdfast.training.peers.present_peers import join_peers

    what = f"This is worker {worker_index()} of {num_workers()}; all have {seconds:g} s to come."
    terminal.print(Text("note: ", style="bold") + Text(what))
    join_peers(seconds)


def end_without_peers(error: Exception) -> None:
    """End the process at once if another one is lost: TensorFlow may wait for it even at the end.

    Nothing is open any more: the run was closed on the way here.
    """
    from holdfast.training.peers.lost_peer import LostPeerError

    if isinstance(error, LostPeerError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
