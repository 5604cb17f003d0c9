"""Where the results of `holdfast predict` go: pictures, files, and a summary."""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO

from rich.text import Text

from holdfast.errors import HoldfastError, nearest
from holdfast.files import refuse_blocked, shown_path
from holdfast.pictures import label_colors
from holdfast.prediction.drawn_image import drawn_image
from holdfast.prediction.result_files import ResultFile
from holdfast.units import count_text, seconds_text

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.lettering import Color
    from holdfast.pictures import Pixels
    from holdfast.prediction.loaded_model import LoadedModel
    from holdfast.prediction.predict_images import ImageOutcome
    from holdfast.prediction.predicted_image import PredictedImage

RESULTS_NAME = "predictions.json"
_MOST_WAITING = 8  # pictures that wait to be drawn; each holds an image
_MOST_NAMED = 10  # unreadable files on the terminal; the JSON names all


def chosen_ids(classes: Sequence[str] | None, names: Mapping[int, str]) -> set[int] | None:
    """Give the label-map ids of the classes that --classes names; None without it."""
    if not classes:
        return None
    ids = {name: number for number, name in names.items()}
    chosen = set()
    for text in (each.strip() for option in classes for each in option.split(",")):
        if text in ids:
            chosen.add(ids[text])
        elif text.isdecimal() and (int(text) in names or not names):
            chosen.add(int(text))
        else:
            known = list(nearest(text, ids)) or list(ids)[:5]
            raise HoldfastError(
                f"--classes: the label map has no class {text!r}.",
                fix=f"It has {', '.join(known)}." if known else "Without a label map, give ids.",
            )
    return chosen


def refuse_places(root: Path, out: Path | None, coco: Path | None) -> None:
    """Raise if pictures cannot be written where they are to go; root is the images' folder."""
    if out is not None and out.resolve() == root.resolve():
        raise HoldfastError(
            f"--out {out} is the folder of the images: pictures would replace them.",
            fix="Give another folder.",
        )
    if coco is not None and coco.is_dir():
        raise HoldfastError(
            f"--coco {coco} is a folder, and the results are one file.",
            fix=f"Give a file, such as {coco / 'results.json'}.",
        )
    if out is not None:
        refuse_blocked(out, "--out")
    if coco is not None:
        refuse_blocked(coco.parent, "--coco")


class Pictures(Protocol):
    """Where drawn images go: a folder, or a video."""

    least_side: int  # smaller images are drawn enlarged

    def add(self, found: PredictedImage, picture: Pixels) -> None:
        """Take the next picture."""

    def finish(self) -> None:
        """Make what was taken a whole."""

    def close(self) -> None:
        """Leave nothing that is not finished."""


class PredictOutput:
    """Takes what was found, image by image; nothing but a picture is written before the end.

    unit: what the images are called, such as "image" or "frame".
    """

    def __init__(
        self,
        *,
        out: Path | None,
        pictures: Pictures | None,
        coco: Path | None,
        model: LoadedModel,
        unit: str,
    ) -> None:
        self._out, self._pictures, self._coco_path = out, pictures, coco
        self._model, self._unit = model, unit
        names = [model.names[number] for number in sorted(model.names)]
        self._colors: dict[str, Color] = label_colors(names)
        self._document = ResultFile('{"images": [')
        self._coco = ResultFile("[") if coco is not None else None
        self._drawing: deque[Future[None]] = deque()
        self._thread = ThreadPoolExecutor(1)
        self._start = time.monotonic()
        self.images = 0
        self._counts: Counter[str] = Counter()
        self._unreadable: list[dict[str, str]] = []

    def add(self, seen: ImageOutcome) -> None:
        """Take the result of one image."""
        if seen.found is None or seen.pixels is None:
            self._unreadable.append({"file": str(seen.path), "why": seen.problem})
            return
        self.images += 1
        self._counts.update(seen.found.names)
        self._document.add(seen.found.document())
        if self._coco is not None:
            for item in seen.found.coco_results():
                self._coco.add(item)
        if self._pictures is not None:
            self._drawing.append(self._thread.submit(self._draw, seen, self._pictures))
            while len(self._drawing) > _MOST_WAITING:
                self._drawing.popleft().result()

    def finish(self) -> None:
        """Wait for the last picture, and write the files of results."""
        while self._drawing:
            self._drawing.popleft().result()
        if self._pictures is not None:
            self._pictures.finish()
        self._document.finish(f'], "unreadable": {json.dumps(self._unreadable)}}}')
        if self._out is not None:
            self._document.save(self._out / RESULTS_NAME)
        if self._coco is not None and self._coco_path is not None:
            self._coco.finish("]")
            self._coco.save(self._coco_path)

    def print_to(self, stream: TextIO) -> None:
        """Print the JSON document."""
        self._document.print_to(stream)

    def report(self, terminal: Console, out: Path | None, coco: Path | None) -> None:
        """Say what was found, which files could not be read, and where the user finds all of it."""
        seconds = time.monotonic() - self._start
        total = sum(self._counts.values())
        rate = f"{self.images / max(seconds, 1e-3):.1f} {self._unit}s a second"
        time_text = f"{seconds_text(seconds)}, {rate}"
        what = f"{count_text(total, 'detection')} in {count_text(self.images, self._unit)}"
        terminal.print(Text(f"{what} ({time_text})"))
        for name, count in self._counts.most_common():
            terminal.print(Text(f"  {count:>6}  {name}"))
        for each in self._unreadable[:_MOST_NAMED]:
            terminal.print(Text(f"not readable: {each['file']}: {each['why']}"), soft_wrap=True)
        if (more := len(self._unreadable) - _MOST_NAMED) > 0:
            terminal.print(Text(f"not readable: {more} more"))
        written = [
            out and f"{shown_path(out)} (pictures, {RESULTS_NAME})",
            coco and shown_path(coco),
        ]
        for path in filter(None, written):
            terminal.print(Text(f"written: {path}"), soft_wrap=True)

    def __enter__(self) -> PredictOutput:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(cancel_futures=True)
        if self._pictures is not None:
            self._pictures.close()
        self._document.close()
        if self._coco is not None:
            self._coco.close()

    def _draw(self, seen: ImageOutcome, pictures: Pictures) -> None:
        if seen.found is None or seen.pixels is None:
            return
        unknown = label_colors([*self._colors, *sorted(set(seen.found.names))])
        colors = unknown if set(seen.found.names) - set(self._colors) else self._colors
        edges, side = self._model.edges, pictures.least_side
        picture = drawn_image(seen.pixels, seen.found, colors, edges, least_side=side)
        pictures.add(seen.found, picture)
