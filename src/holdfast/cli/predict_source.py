"""What `holdfast predict` looks at: images of a file or folder, or the frames of a video."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.prediction.drawn_image import PictureFolder
from holdfast.prediction.drawn_video import DrawnVideo, video_name
from holdfast.prediction.image_stream import image_files
from holdfast.prediction.predict_images import ImageOutcome, predict_frames, predict_images
from holdfast.prediction.video_file import VideoFile, is_video, videos_in
from holdfast.units import count_text

if TYPE_CHECKING:
    from holdfast.cli.predict_output import Pictures
    from holdfast.prediction.loaded_model import LoadedModel
    from holdfast.prediction.predict_images import PredictionSettings


@dataclass(frozen=True, kw_only=True)
class PredictSource:
    """Images to detect in, however they come.

    unit: what one of them is called. count: how many there are, as far as it is known. notes: what
    the user has to know. pictures: where they go once they are drawn, in a folder of results.
    """

    unit: str
    count: int
    notes: tuple[str, ...]
    pictures: Callable[[Path], Pictures]
    predict: Callable[[LoadedModel, PredictionSettings], Iterator[ImageOutcome]]


@contextmanager
def opened_source(target: Path, out: Path | None, every: int | None) -> Iterator[PredictSource]:
    """Open a video, or list images; out is not looked into."""
    if target.is_file() and is_video(target):
        with VideoFile(target) as video:
            yield _frames(video, every or 1)
        return
    if every is not None:
        raise HoldfastError(
            f"--every is for the frames of a video, and {target} is none.", fix="Leave it out."
        )
    yield _images(target, out)


def _images(target: Path, out: Path | None) -> PredictSource:
    files = image_files(target, besides=out)
    videos = videos_in(target, besides=out)
    return PredictSource(
        unit="image",
        count=len(files),
        notes=(f"passed over: {count_text(len(videos), 'video')}; give a video by its own path",)
        if videos
        else (),
        pictures=partial(PictureFolder, root=target if target.is_dir() else target.parent),
        predict=lambda model, settings: predict_images(model, files, settings),
    )


def _frames(video: VideoFile, every: int) -> PredictSource:
    return PredictSource(
        unit="frame",
        count=-(-video.num_frames // every),
        notes=("the sound of the video is not kept",) if video.has_audio else (),
        pictures=lambda out: DrawnVideo(out / video_name(video.path.name), video.rate / every),
        predict=lambda model, settings: predict_frames(model, video, settings, every=every),
    )
