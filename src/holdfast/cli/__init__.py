"""The command line, one file per command."""

import sys
from types import TracebackType

_print_traceback = sys.excepthook


def _answer(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Answer Ctrl-C in one line also while the command itself is still being loaded."""
    if issubclass(kind, KeyboardInterrupt):
        sys.stderr.write("Stopped.\n")
    else:
        _print_traceback(kind, error, trace)


sys.excepthook = _answer  # before the command's own imports, which take a while
