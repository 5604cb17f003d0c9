"""Train, val and test: which of them a data set's own names say."""

from __future__ import annotations

import re
from collections.abc import Iterable

TRAIN, VAL, TEST = "train", "val", "test"
SPLITS = (TRAIN, VAL, TEST)
_WORDS = {
    **dict.fromkeys(("train", "training"), TRAIN),
    **dict.fromkeys(("val", "valid", "validation", "validate", "eval", "evaluation"), VAL),
    **dict.fromkeys(("test", "testing"), TEST),
}
# Too short or too common to be looked for inside of longer names.
_ALONE = {**_WORDS, "trn": TRAIN, "dev": VAL, "tst": TEST}
# What says nothing about the images: train_images is a split, test_tubes is not.
_NEUTRAL = (
    *("image", "images", "img", "imgs", "picture", "pictures", "photo", "photos", "frame"),
    *("frames", "jpg", "jpeg", "jpegs", "png", "label", "labels", "annotation", "annotations"),
    *("annot", "annots", "xml", "xmls", "json", "txt", "csv", "box", "boxes", "bbox", "data"),
    *("dataset", "set", "sets", "split", "splits", "folder", "dir", "subset", "part", "batch"),
    *("new", "final", "raw", "small", "resized", "augmented", "aug", "v", "dev"),
    *("coco", "voc", "yolo"),
)
_GLUED = re.compile(rf"({'|'.join(_WORDS)})({'|'.join(_NEUTRAL)})")  # trainset, testimages
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")  # words of TrainImages, train_images, train2017


def named_split(path: str, *, by_name: bool = False) -> str | None:
    """Tell from the folders of a path (and from the file's own name) which split it belongs to.

    A folder that is called like a split counts before one that has a split's name as its last
    word, or beside words that say nothing; of several the innermost.

    >>> named_split("valid/images/1.jpg"), named_split("train2017/1.jpg"), named_split("1.jpg")
    ('val', 'train', None)
    >>> named_split("my-cells-test/1.jpg"), named_split("latest/1.jpg"), named_split("test_tubes/1")
    ('test', None, None)
    >>> named_split("annotations/instances_val2017.json", by_name=True)
    'val'
    >>> named_split("trainval.json", by_name=True)
    """
    *folders, name = path.split("/")
    if by_name and (found := _one({_WORDS.get(word) for word in _words(name)} - {None})):
        return found
    folders.reverse()
    whole = (_ALONE.get("".join(_words(folder))) for folder in folders)
    return next(filter(None, whole), None) or next(filter(None, map(_part, folders)), None)


def split_of_files(image: str | None, annotation: str) -> str | None:
    """Tell the split of an image that has an annotation file of its own, by the folders of both.

    The image's folder counts first: annotations are gathered in one place more often than images.

    >>> split_of_files("test/1.jpg", "annotations/1.xml"), split_of_files(None, "train/1.xml")
    ('test', 'train')
    """
    return (named_split(image) if image else None) or named_split(annotation)


def conflict_notes(files: Iterable[tuple[str | None, str]]) -> list[str]:
    """Say how many images and their annotation files lie in folders of different splits."""
    differing = [
        (image, annotation)
        for image, annotation in files
        if image
        and (first := named_split(image))
        and (second := named_split(annotation))
        and first != second
    ]
    if not differing:
        return []
    image, annotation = differing[0]
    whose = "1 image and its annotation"
    if len(differing) > 1:
        whose = f"{len(differing)} images and their annotations"
    what = f"The folders of {whose} name different splits"
    return [f"{what} ({image}, {annotation}): the image's counts."]


def _words(name: str) -> list[str]:
    return [word.lower() for word in _PART.findall(name)]


def _part(folder: str) -> str | None:
    """Read a split's name that is only a part of a folder's name."""
    words = _words(folder)
    if glued := _GLUED.fullmatch("".join(words)):
        return _WORDS[glued[1]]
    splits = {_WORDS[word] for word in words if word in _WORDS}
    others = [word for word in words if word not in _WORDS]
    last = bool(words) and words[-1] in _WORDS
    return _one(splits) if last or all(word in _NEUTRAL for word in others) else None


def _one(found: set[str] | set[str | None]) -> str | None:
    return found.pop() if len(found) == 1 else None
