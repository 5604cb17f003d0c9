"""What `holdfast inspect` prints: a panel of numbers, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from holdfast.cli.terminal import console, problem_list, summary_panel
from holdfast.config.summary import SummaryRow
from holdfast.data.survey.anchor_coverage import Share
from holdfast.data.survey.inspection import Inspection
from holdfast.data.survey.statistics import Quantiles, Statistics
from holdfast.data.survey.usable import LOOK
from holdfast.errors import Problem
from holdfast.units import bytes_text, count_text

if TYPE_CHECKING:
    from holdfast.cli.inspect.inspect_command import Sheet
    from holdfast.models.detectors.build_layout import Covered

_CLASSES = 20  # rows; the others are summed up
_BAR = 24  # characters of the longest bar
_WORST_CLASSES = 5  # named with what anchors cover of them


def print_inspections(
    title: str, found: Mapping[str, Inspection], covered: Covered | None = None
) -> None:
    """Print every data set, the first with what anchors cover; above all what is wrong with it."""
    terminal = console()
    for name, inspection in found.items():
        terminal.print(problem_list(_named_problems(name, inspection)))
    for index, (name, inspection) in enumerate(found.items()):
        heading = f"{title}: {name}" if name else title
        statistics = inspection.statistics
        anchors = [] if index or covered is None else _coverage_rows(covered)
        rows = [*_rows(statistics), *_shape_rows(inspection), *_class_rows(statistics), *anchors]
        terminal.print(summary_panel(heading, rows))
        _print_left_out(terminal, statistics)
        _print_remarks(terminal, inspection)


def print_drawn(drawn: Sheet) -> None:
    """Say where the pictures are, and what is missing on them."""
    terminal = console()
    for note in drawn.notes:
        terminal.print(Text("not drawn: ", style="bold yellow") + Text(note))
    if drawn.path:
        terminal.print(Text(f"pictures: {drawn.path}"))


def _named_problems(name: str, inspection: Inspection) -> Iterator[Problem]:
    """Name the data set, and call what only a training refuses a warning: there are images."""
    for problem in inspection.problems:
        severity = "warning" if inspection.statistics.images else problem.severity
        fix = "" if problem.fix == LOOK else problem.fix  # this is it
        yield replace(problem, path=name, severity=severity, fix=fix)


def _rows(statistics: Statistics) -> Iterator[SummaryRow]:
    yield SummaryRow("images", f"{statistics.images}{_left_out(statistics.images_left_out)}")
    clipped = f", {statistics.clipped} clipped at the border" if statistics.clipped else ""
    yield SummaryRow("boxes", f"{statistics.boxes}{_left_out(statistics.boxes_left_out)}{clipped}")
    if each := statistics.boxes_per_image:
        without = f"; {count_text(each.without, 'image')} without any" if each.without else ""
        yield SummaryRow(
            "boxes per image",
            f"mean {each.mean:.1f}, median {each.median:g}, most {each.maximum}{without}",
        )
        if each.worst:
            worst = each.worst[0]
            yield SummaryRow("most boxes in", f"{worst.place} {_named(worst.source_id)}".strip())
    if sizes := statistics.image_sizes:
        yield SummaryRow("image width", _spread(sizes.width))
        yield SummaryRow("image height", _spread(sizes.height))
        kinds = (
            ("landscape", sizes.landscape),
            ("portrait", sizes.portrait),
            ("square", sizes.square),
        )
        yield SummaryRow(
            "orientation", ", ".join(f"{count} {kind}" for kind, count in kinds if count)
        )
    if boxes := statistics.box_sizes:
        yield SummaryRow("box width", f"{_spread(boxes.width_pixels)} pixels")
        yield SummaryRow("", f"{_spread(boxes.width)} of the image")
        yield SummaryRow("box height", f"{_spread(boxes.height_pixels)} pixels")
        yield SummaryRow("", f"{_spread(boxes.height)} of the image")
        yield SummaryRow("box width / height", _spread(boxes.aspect_ratio))
    if statistics.images:
        yield SummaryRow("pixel mean", _numbers(statistics.pixel_mean))
        yield SummaryRow("pixel deviation", _numbers(statistics.pixel_deviation))
        total, largest = sum(statistics.stored_bytes), max(statistics.stored_bytes)
        yield SummaryRow("stored", f"{bytes_text(total)}, the largest image {bytes_text(largest)}")
        size = bytes_text(statistics.largest_image_bytes)
        yield SummaryRow("largest decoded", f"{size}, {statistics.largest_image}")


def _shape_rows(inspection: Inspection) -> Iterator[SummaryRow]:
    if inspection.has_masks:
        yield SummaryRow("masks", "yes")
    if inspection.num_keypoints:
        yield SummaryRow("keypoints", f"{inspection.num_keypoints} of each object")


def _class_rows(statistics: Statistics) -> Iterator[SummaryRow]:
    shown = list(statistics.classes.items())[:_CLASSES]
    widest = max((len(name) for name, _ in shown), default=0)
    most = max(statistics.classes.values(), default=1)
    label = count_text(len(statistics.classes), "class", "classes")
    for name, boxes in shown:
        bar = "█" * max(1, round(boxes / most * _BAR))
        yield SummaryRow(label, f"{name:<{widest}}  {boxes:>8}  {bar}")
    others = list(statistics.classes.values())[_CLASSES:]
    if others:
        yield SummaryRow(
            label, f"and {len(others)} more with {count_text(sum(others), 'box', 'boxes')}"
        )


def _coverage_rows(covered: Covered) -> Iterator[SummaryRow]:
    here = covered.here
    reached = f"have an anchor with IoU >= {here.iou_threshold:g}"
    yield SummaryRow("anchor coverage", f"{_share(here.all)} {reached}")
    if here.small.boxes:
        yield SummaryRow("", f"{_share(here.small)} smaller than 32 x 32 pixels of the input")
    if len(here.classes) > 1:
        worst = [f"{name} {_percent(share)}" for name, share in here.classes.items()]
        others = len(worst) - _WORST_CLASSES
        named = worst[:_WORST_CLASSES] + ([f"{others} more classes"] if others > 0 else [])
        yield SummaryRow("", ", ".join(named))
    if covered.change is not None and covered.published is not None:
        height, width, _ = covered.change.published
        yield SummaryRow(
            "", f"at {height} x {width}: {_percent(covered.published.all)} of all boxes"
        )
        yield SummaryRow("resolution", str(covered.change))


def _share(share: Share) -> str:
    return f"{_percent(share)} of {count_text(share.boxes, 'box', 'boxes')}"


def _percent(share: Share) -> str:
    percent = 100 * share.covered / max(share.boxes, 1)
    # What is rounded must not look like all.
    return f"{percent if share.covered == share.boxes else min(percent, 99.9):.3g} %"


def _print_left_out(terminal: Console, statistics: Statistics) -> None:
    for each in statistics.left_out:
        parts = []
        if each.images:
            parts.append(count_text(each.images, "image"))
        if each.boxes:
            parts.append(count_text(each.boxes, "box", "boxes"))
        if not each.images:
            parts.append(f"in {count_text(each.images_affected, 'image')}")
        _print_group(
            terminal,
            Text("left out: ", style="bold yellow") + Text(f"{' '.join(parts)}: {each.reason}"),
            each.examples,
            each.images_affected,
        )


def _print_remarks(terminal: Console, inspection: Inspection) -> None:
    for each in inspection.statistics.remarks:
        head = Text("note: ", style="bold") + Text(
            f"{count_text(each.images, 'image')}: {each.text}"
        )
        _print_group(terminal, head, each.examples, each.images)
    for note in inspection.notes:
        terminal.print(Text("note: ", style="bold") + Text(note))


def _print_group(terminal: Console, head: Text, examples: Sequence[str], count: int) -> None:
    terminal.print(head)
    for example in examples:
        terminal.print(Text(f"    {example}", style="dim"))
    if len(examples) < count:
        terminal.print(Text(f"    … and {count - len(examples)} more", style="dim"))


def _left_out(count: int) -> str:
    return f", {count} left out" if count else ""


def _named(source_id: str) -> str:
    return f"({source_id})" if source_id else ""


def _spread(values: Quantiles) -> str:
    if values.minimum == values.maximum:
        return f"all {values.minimum:.3g}" if values.minimum < 1000 else f"all {values.minimum:.0f}"
    numbers = (values.minimum, values.median, values.maximum)
    low, median, high = (f"{each:.3g}" if each < 1000 else f"{each:.0f}" for each in numbers)
    return f"{low} to {high}, median {median}"


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.1f}" for value in values)
