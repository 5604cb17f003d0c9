"""Images of files, decoded by threads while the network works, a bounded number ahead."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.data.input.decode_images import decoded_image
from holdfast.data.sources.image_files import EXTENSIONS, take_picture
from holdfast.errors import HoldfastError
from holdfast.prediction.predicted_image import Moment


class DecodedImage(NamedTuple):
    """An image of a file, a frame of a video, or why there is none."""

    path: Path
    pixels: NDArray[np.uint8] | None  # (H, W, 3)
    ready: Any = None  # what the network takes
    problem: str = ""  # why the file cannot be read
    moment: Moment | None = None  # of a frame


def image_files(target: Path, besides: Path | None = None) -> list[Path]:
    """List the images of a folder and its folders, in order of their names; or the one named.

    besides: a folder inside that is not looked into, where results are written.
    """
    if not target.exists():
        raise HoldfastError(f"There is no {target}.", fix="Give an image, or a folder of images.")
    if target.is_file():
        return [target]
    found = files_in(target, EXTENSIONS, besides)
    if not found:
        raise HoldfastError(
            f"{target} holds no image.",
            fix=f"Give a folder with {', '.join(EXTENSIONS)} files, or a video by its own path.",
        )
    return found


def files_in(folder: Path, extensions: Collection[str], besides: Path | None) -> list[Path]:
    """List the visible files of a folder and its folders that end so; none of `besides`."""
    left_out = besides.resolve() if besides is not None else None
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in extensions
        and not path.name.startswith(".")
        and (path.is_file() or _is_broken_link(path))
        and not (left_out is not None and path.resolve().is_relative_to(left_out))
    ]


def _is_broken_link(path: Path) -> bool:
    """Tell whether a file is missing that is listed: it is to be named as not readable."""
    return path.is_symlink() and not path.exists()


def decoded_files(
    files: Sequence[Path], prepare: Callable[[NDArray[np.uint8]], Any], ahead: int
) -> Iterator[DecodedImage]:
    """Decode files in their order, and prepare each image; at most `ahead` wait to be taken."""

    def read(path: Path) -> DecodedImage:
        try:
            pixels = _pixels(path)
        except (HoldfastError, OSError) as error:
            return DecodedImage(path, None, problem=_reason(error))
        return DecodedImage(path, pixels, prepare(pixels))

    waiting: deque[Future[DecodedImage]] = deque()
    left = iter(files)
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as threads:
        try:
            for path in left:
                waiting.append(threads.submit(read, path))
                if len(waiting) >= ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            threads.shutdown(cancel_futures=True)


def _pixels(path: Path) -> NDArray[np.uint8]:
    """Decode an image upright, as people see it."""
    with decoded_image(take_picture(path.read_bytes()).encoded) as pixels:
        return np.asarray(pixels)


def _reason(error: HoldfastError | OSError) -> str:
    if isinstance(error, HoldfastError):
        return error.message.rstrip(".")
    return error.strerror or str(error)
