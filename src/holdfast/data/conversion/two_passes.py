"""Progress of a conversion that may read its images twice: to compare and to write them."""

from __future__ import annotations

from collections.abc import Callable


class TwoPasses:
    """Reports both passes as one; where a split is made, each is half of an image's work."""

    def __init__(self, report: Callable[[int, int], None]) -> None:
        self.report = report
        self.compared = False

    def comparing(self, done: int, total: int) -> None:
        """Report that so many images are compared."""
        self.compared = True
        self.report(done // 2, total)

    def writing(self, done: int, total: int) -> None:
        """Report that so many images are written."""
        self.report((total + done) // 2 if self.compared else done, total)
