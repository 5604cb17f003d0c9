"""Options for the data that lies near a config whose paths are those of another machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from holdfast.config.facts.networks import detector_of
from holdfast.config.label_map import largest_id, read_label_map
from holdfast.config.nearby import role_of, written_parts
from holdfast.config.paths import find_files, meant
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.suggestions.change import (
    EVALUATION,
    INPUT,
    LABEL_MAP,
    TRAIN,
    Change,
    distance,
    inputs_of,
    list_text,
    namesakes,
    readers_of,
    shown,
)
from holdfast.config.suggestions.search import Search
from holdfast.config.text.overrides import apply_overrides
from holdfast.errors import ConfigError, errors_of

_MOST_LABEL_MAPS = 30  # that are read to choose one


def for_data(search: Search) -> Iterator[Change]:
    """Give each wrong path of the readers what lies nearby."""
    train = search.config.train_input_reader or InputReader()
    inputs = list(_for_inputs(search, TRAIN, train, beside=()))
    yield from inputs
    changed, _ = apply_overrides(search.config, {each.path: each.value for each in inputs})
    texts = inputs_of(changed.train_input_reader or InputReader())
    beside = [str(file) for text in texts for file in find_files(text, search.folder).files]
    yield from _for_label_maps(search, beside[:1])
    for index in reversed(range(len(search.config.eval_input_reader))):
        yield from _for_evaluation(search, index, beside[:1])


def for_classes(config: TrainEvalPipelineConfig, folder: Path) -> Iterator[Change]:
    """Take the number of classes from the label map, whether it was too small or too large."""
    train, model = config.train_input_reader, config.model
    detector = detector_of(model) if model else None
    files = find_files(train.label_map_path, folder).files if train else ()
    if model is None or detector is None or not files:
        return
    classes = num_classes_of(files[0])
    if classes and classes != detector.num_classes:
        text = f"{classes} in the label map, {detector.num_classes} in the config"
        yield Change(f"model.{model.which('model')}.num_classes", str(classes), "classes", text)


def num_classes_of(path: str | Path) -> int | None:
    """Give the largest id of a label map; None for any other file, and for a map with errors."""
    try:
        label_map, problems = read_label_map(path)
    except ConfigError:
        return None
    return None if errors_of(problems) else largest_id(label_map)


def _for_evaluation(search: Search, index: int, beside: Sequence[str]) -> Iterator[Change]:
    path, reader = f"{EVALUATION}[{index}]", search.config.eval_input_reader[index]
    if index and search.is_wrong(path):
        yield Change(path, "", "", "")  # only the first is ever evaluated
        return
    found = list(_for_inputs(search, path, reader, beside))
    if not found and search.is_wrong(f"{path}.{INPUT}"):
        yield Change(path, "", "evaluation data", "none was found nearby: no evaluation")
    yield from found


def _for_inputs(
    search: Search, path: str, reader: InputReader, beside: Sequence[str]
) -> Iterator[Change]:
    written, place = inputs_of(reader), f"{path}.{INPUT}"
    is_wrong = search.is_wrong(place) or path in search.wrong or search.has_namesakes(written)
    if not is_wrong:
        return
    mended = [meant(text) for text in written]
    if written and all(_leads_to_records(text, search.folder) for text in mended):
        found = mended
    else:
        found = _chosen_records(search.nearby.records, written, path == TRAIN, beside)
    if found:
        texts = [shown(each) for each in found]
        label = "train data" if path == TRAIN else "evaluation data"
        yield Change(place, list_text(texts), label, ", ".join(texts) + _others(search, found))
    elif path == TRAIN:
        search.notes.append("No records to train on were found nearby: name them with --data DIR.")


def _leads_to_records(text: str, folder: Path) -> bool:
    files = find_files(text, folder).files
    return bool(files) and all(file.is_file() and file.stat().st_size for file in files)


def _others(search: Search, found: Sequence[str]) -> str:
    """Say that a data set whose name tells nothing was one of several."""
    unnamed = [each for each in search.nearby.records if role_of(each) is None]
    is_guess = len(unnamed) > 1 and found[0] in unnamed
    return f" (1 of {len(unnamed)} nearby)" if is_guess else ""


def _chosen_records(
    records: Sequence[str], written: Sequence[str], is_train: bool, beside: Sequence[str]
) -> list[str]:
    """Choose by the names that the config writes, else what is for training or evaluation."""
    by_name = [namesakes(text, records) for text in written]
    if by_name and all(by_name):
        return list(dict.fromkeys(each[0] for each in by_name))
    asked = {role_of(text) for text in written}
    roles = ("train", None) if is_train else ("test", "val") if "test" in asked else ("val", "test")
    fitting = [each for each in records if role_of(each) in roles]
    fitting.sort(key=lambda each: (distance(each, beside), roles.index(role_of(each))))
    return fitting[:1]


def _for_label_maps(search: Search, beside: Sequence[str]) -> Iterator[Change]:
    """Give all readers whose label map is wrong the same one."""
    readers = readers_of(search.config)
    wrong = [
        path
        for path, reader in readers
        if search.is_wrong(f"{path}.{LABEL_MAP}") or search.has_namesakes([reader.label_map_path])
    ]
    if TRAIN in search.wrong:  # there is no reader at all
        wrong.insert(0, TRAIN)
    if not wrong:
        return
    right = [reader.label_map_path for path, reader in readers if path not in wrong]
    texts = [reader.label_map_path for path, reader in readers if path in wrong]
    mended = [meant(text) for text in texts if find_files(meant(text), search.folder).files]
    chosen = [each for each in (*right, *mended) if each]
    chosen = chosen[:1] or _chosen_label_maps(search, texts, beside)
    if not chosen:
        search.notes.append("No label map was found nearby: name the data with --data DIR.")
        return
    text = shown(chosen[0]) + (f" (1 of {len(chosen)} nearby)" if len(chosen) > 1 else "")
    for path in wrong:
        told = text if path == wrong[0] else ""
        yield Change(f"{path}.{LABEL_MAP}", shown(chosen[0]), "label map", told)


def _chosen_label_maps(search: Search, written: Sequence[str], beside: Sequence[str]) -> list[str]:
    """List those that are best by name, closeness to the records and number of classes."""
    detector = detector_of(search.config.model) if search.config.model else None
    wanted = detector.num_classes if detector else 0
    names = {written_parts(text)[-1] for text in written if written_parts(text)}
    ranks: dict[str, tuple[bool, int, bool]] = {}
    for path in search.nearby.label_maps[:_MOST_LABEL_MAPS]:
        if (classes := num_classes_of(path)) is not None:
            is_other = path.rpartition("/")[2] not in names
            ranks[path] = (is_other, distance(path, beside), classes != wanted)
    best = min(ranks.values(), default=None)
    return [path for path, rank in ranks.items() if rank == best]
