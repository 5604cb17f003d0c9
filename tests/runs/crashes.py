"""Children that are killed just before one of their file operations, for tests that are scripts."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator

_OPERATIONS = ("open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "shutil.")


def at_each_operation(prepare: Callable[[], None], action: Callable[[], None]) -> Iterator[int]:
    """Yield after each child that was killed in the action: before its first operation, its second…

    `prepare` is called before each. The last child was not killed, and nothing is yielded for it.
    """
    for number in range(1, 1000):
        prepare()
        if not _is_killed(action, number):
            return
        yield number
    raise AssertionError("the action has no end")


def _is_killed(action: Callable[[], None], number: int) -> bool:
    child = os.fork()
    if child == 0:
        try:
            _kill_before(number)
            action()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), "the action failed by itself"
    return status == signal.SIGKILL


def _kill_before(number: int) -> None:
    left = number

    def hook(event: str, _: object) -> None:
        nonlocal left
        if event.startswith(_OPERATIONS):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
