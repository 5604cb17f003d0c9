"""Frames of a video file, upright and with their times; decoded ahead of the network."""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import HoldfastError
from holdfast.extras import need_extra
from holdfast.prediction.image_stream import DecodedImage, files_in
from holdfast.prediction.predicted_image import Moment

VIDEO_EXTENSIONS = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg", ".ts")
_USUAL_RATE = Fraction(25)  # of a file that does not tell


def is_video(path: Path) -> bool:
    """Tell by its name whether a file is a video."""
    return path.suffix.lower() in VIDEO_EXTENSIONS


def videos_in(folder: Path, besides: Path | None) -> list[Path]:
    """List the videos of a folder and its folders; none of a file, nor of `besides`."""
    return files_in(folder, VIDEO_EXTENSIONS, besides) if folder.is_dir() else []


class VideoFile:
    """A video that is open for reading; `with` closes it.

    rate: frames a second. num_frames: how many there are, as far as the file tells; 0: it does not.
    """

    def __init__(self, path: Path) -> None:
        need_extra("video", "A video", "av")
        import av

        self.path = path
        try:
            self._container = av.open(str(path))
        except (av.FFmpegError, OSError) as error:
            raise HoldfastError(
                f"{path} is not a video that can be read: {_reason(error)}.",
                fix="Give a whole video file, such as an MP4 with H.264.",
            ) from error
        if not self._container.streams.video:
            self._container.close()
            raise HoldfastError(f"{path} holds no video stream.", fix="Give a file with pictures.")
        self._stream = self._container.streams.video[0]
        self._stream.thread_type = "AUTO"
        self.rate = Fraction(self._stream.average_rate or _USUAL_RATE)
        self.has_audio = bool(self._container.streams.audio)
        seconds = (self._container.duration or 0) / av.time_base
        self.num_frames = self._stream.frames or round(seconds * self.rate)

    def frames(self) -> Iterator[tuple[Moment, Any]]:
        """Decode frame by frame; raises where the file is broken, or has none."""
        import av

        count, first = 0, None
        try:
            for frame in self._decoded():
                seconds = float(count / self.rate) if frame.time is None else float(frame.time)
                first = seconds if first is None else first
                yield Moment(count, seconds - first), frame
                count += 1
        except av.FFmpegError as error:
            raise HoldfastError(
                f"{self.path} cannot be decoded after frame {count}: {_reason(error)}.",
                fix="Nothing was written. Copy the video again, or repair it.",
            ) from error
        if not count:
            raise HoldfastError(
                f"{self.path} holds no frame that can be decoded.",
                fix="Copy the video again, or give another.",
            )

    def _decoded(self) -> Iterator[Any]:
        import av

        for packet in self._container.demux(self._stream):
            if packet.is_corrupt:  # a decoder would make the rest of a cut frame up
                raise av.InvalidDataError(errno.EILSEQ, "a part of a frame is missing")
            yield from packet.decode()

    def __enter__(self) -> VideoFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._container.close()


def decoded_frames(
    video: VideoFile,
    prepare: Callable[[NDArray[np.uint8]], Any],
    *,
    every: int,
    ahead: int,
) -> Iterator[DecodedImage]:
    """Decode a video by a thread, and prepare its frames; at most `ahead` wait to be taken.

    every: of so many frames, the first is given and the others are passed over.
    """

    def prepared() -> Iterator[DecodedImage]:
        for moment, frame in video.frames():
            if moment.frame % every == 0:
                pixels = _upright(frame)
                yield DecodedImage(video.path, pixels, prepare(pixels), moment=moment)

    frames = prepared()
    with ThreadPoolExecutor(1) as thread:
        waiting = deque(thread.submit(next, frames, None) for _ in range(ahead))
        try:
            while (image := waiting.popleft().result()) is not None:
                waiting.append(thread.submit(next, frames, None))
                yield image
        finally:
            thread.shutdown(cancel_futures=True)


def _upright(frame: Any) -> NDArray[np.uint8]:
    """Give the pixels as people see them: telephones note how they were held."""
    pixels = frame.to_ndarray(format="rgb24")
    quarters = round(frame.rotation / 90) % 4  # counterclockwise
    turned: NDArray[np.uint8] = np.ascontiguousarray(np.rot90(pixels, quarters))
    return turned


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error).rstrip(".")
