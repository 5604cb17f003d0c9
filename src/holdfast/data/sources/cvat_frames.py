"""The frames of CVAT's video tasks, and the image files they were saved as."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence, Set
from typing import NamedTuple
from xml.etree.ElementTree import Element

from holdfast.data.sources.drawings import to_size
from holdfast.data.sources.image_files import NO_SIZE, Size
from holdfast.data.sources.lookup import stem

_NUMBER = re.compile(r"\d+")
_MOST_FRAMES = 10_000_000  # days of video; a task that claims more is not believed
_VIDEOS = (".mp4", ".avi", ".mov", ".mkv", ".webm", ".m4v", ".mpg", ".mpeg", ".wmv")


class Task(NamedTuple):
    """What the head of a file says about a task, or about a job of one."""

    name: str
    subset: str
    size: Size  # of every frame of a video
    source: str  # the video's file name
    frames: range  # the numbers of its frames


NO_TASK = Task("", "", NO_SIZE, "", range(0))


class Frames(NamedTuple):
    """The frames of a task that have an image or an object."""

    names: dict[int, str]  # frame number -> what its image is called
    notes: tuple[str, ...] = ()


def read_tasks(root: Element) -> dict[str, Task]:
    """Give the tasks of a file by their id; one without anything if the file names none."""
    tasks = {
        (element.findtext("id") or "").strip(): _read_task(element, meta)
        for meta in root.findall("meta")
        for element in meta.iter()
        if element.tag in ("task", "job") and len(element)
    }
    return tasks or {"": NO_TASK}


def find_frames(task: Task, annotated: Set[int], paths: Sequence[str], annotation: str) -> Frames:
    """Find the images of a task's frames among all paths; those nearest to the annotation first.

    CVAT calls them frame_000000.png. Other names are paired in their order if there are as many
    images as frames, else by the number in the name.
    """
    numbers = sorted({*task.frames, *annotated})
    near = _nearest_paths(task, paths, annotation)
    by_stem = {stem(path): path for path in near}
    images = {
        number: by_stem[name] for number in numbers if (name := _cvat_name(number)) in by_stem
    }
    notes: tuple[str, ...] = ()
    if not images:
        images, how = _pair(numbers, near)
        if annotated.isdisjoint(images):
            images, notes = {}, (_missing_note(task),)
        else:
            first = min(images)
            one = f"{images[first]} is frame {first}"
            notes = (f"{annotation}: frames are paired with images {how}: {one}.",)
    found = [number for number in numbers if number in images or number in annotated]
    return Frames({number: images.get(number, _cvat_name(number)) for number in found}, notes)


def _pair(numbers: Sequence[int], paths: Sequence[str]) -> tuple[dict[int, str], str]:
    """Pair frames with images that are not called as CVAT calls them; say how."""
    ordered = sorted(paths, key=_natural)
    if len(ordered) == len(numbers):
        return dict(zip(numbers, ordered, strict=True)), "in their order"
    by_number = {_last_number(path): path for path in reversed(ordered)}
    images = {number: by_number[number] for number in numbers if number in by_number}
    return images, "by the number in their names"


def _read_task(element: Element, meta: Element) -> Task:
    def text(path: str) -> str:
        # Of a single task, what concerns its video stands beside it.
        return (element.findtext(path) or meta.findtext(path) or "").strip()

    def whole(path: str) -> int:
        return int(text(path)) if text(path).isdecimal() else 0

    found = _NUMBER.search(text("frame_filter"))  # step=2
    step = max(1, int(found[0])) if found else 1
    start = whole("start_frame")
    # Old versions write 0 where the last frame is not known.
    stop = max(whole("stop_frame"), start + (whole("size") - 1) * step)
    frames = range(start, stop + 1, step)
    return Task(
        name=text("name"),
        subset=text("subset"),
        size=to_size(text("original_size/width"), text("original_size/height")),
        source=text("source"),
        frames=frames if len(frames) <= _MOST_FRAMES else range(0),
    )


def _nearest_paths(task: Task, paths: Sequence[str], annotation: str) -> list[str]:
    """Keep the images below the annotation's folder, and of these the ones in the task's own."""
    below = posixpath.dirname(annotation)
    near = [path for path in paths if not below or path.startswith(f"{below}/")] or list(paths)
    own = [path for path in near if task.name and f"/{task.name}/" in f"/{path}"]
    return own or near


def _cvat_name(number: int) -> str:
    return f"frame_{number:06d}"


def _natural(path: str) -> tuple[tuple[int, str], ...]:
    """Sort numbers in names by their value: 2.png comes before 10.png."""
    parts = re.split(r"(\d+)", path)
    return tuple((int(part), "") if part.isdecimal() else (0, part) for part in parts)


def _last_number(path: str) -> int | None:
    numbers = _NUMBER.findall(stem(path))
    return int(numbers[-1]) if numbers else None


def _missing_note(task: Task) -> str:
    video = task.source if task.source.lower().endswith(_VIDEOS) else "VIDEO"
    return (
        "The frames of the video are missing. Export the task with its images, or "
        f"take them from the video: ffmpeg -i {video} -start_number 0 frame_%06d.png"
    )
