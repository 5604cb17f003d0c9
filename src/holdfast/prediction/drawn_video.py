"""A video of drawn frames, which appears whole once it is finished."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

from holdfast.files import write_stream
from holdfast.pictures import Pixels
from holdfast.prediction.predicted_image import PredictedImage

_TICKS = 90_000  # a second: all common frame rates are whole numbers of them
_QUALITY = {"crf": "20", "preset": "veryfast"}


class DrawnVideo:
    """An MP4 file with H.264, which has no name until it is finished."""

    least_side = 0  # frames keep their size

    def __init__(self, path: Path, rate: Fraction) -> None:
        self._path, self._rate = path, rate
        self._file: Any = None
        self._container: Any = None
        self._stream: Any = None
        self._last = -1

    def add(self, found: PredictedImage, picture: Pixels) -> None:
        """Add a frame, to be shown when the one that it was drawn on is."""
        import av

        assert found.moment is not None  # it is a frame
        if self._stream is None:
            self._open(*picture.shape[:2])
        frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
        self._last = max(round(found.moment.seconds * _TICKS), self._last + 1)
        frame.pts, frame.time_base = self._last, Fraction(1, _TICKS)
        self._container.mux(self._stream.encode(frame))

    def finish(self) -> None:
        """Write what the encoder still holds, and give the file its name."""
        self._container.mux(self._stream.encode(None))
        self._container.close()
        self._file.seek(0)
        write_stream(self._path, self._file)
        self._file.close()

    def close(self) -> None:
        """Leave nothing of a video that was not finished."""
        if self._stream is not None:
            self._container.close()
            self._file.close()

    def _open(self, height: int, width: int) -> None:
        import av

        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Without a name, a killed process leaves nothing of it.
        self._file = tempfile.TemporaryFile(dir=self._path.parent)  # noqa: SIM115  closed by `close`
        self._container = av.open(self._file, "w", format="mp4")
        stream: Any = self._container.add_stream("libx264", rate=self._rate, options=_QUALITY)
        stream.width, stream.height = width, height
        # Colors at half the resolution, which every player knows, need even sides.
        stream.pix_fmt = "yuv444p" if height % 2 or width % 2 else "yuv420p"
        stream.codec_context.time_base = Fraction(1, _TICKS)
        self._stream = stream


def video_name(name: str) -> str:
    """Name the drawn video of a video.

    >>> video_name("a.MP4"), video_name("b.mov")
    ('a.MP4', 'b.mov.mp4')
    """
    return name if name.lower().endswith(".mp4") else f"{name}.mp4"
