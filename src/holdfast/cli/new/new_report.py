"""What `holdfast new` says when it is done."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from holdfast.cli.convert_command import result_json
from holdfast.cli.terminal import console, problem_list, summary_panel
from holdfast.config.recipes.box_sides import box_at_input
from holdfast.config.recipes.fill import trained_by
from holdfast.config.recipes.recipe import Recipe
from holdfast.config.summary import SummaryRow
from holdfast.data.splitting.split_names import TEST, TRAIN
from holdfast.errors import Problem
from holdfast.files import shown_path
from holdfast.projects.making import Made
from holdfast.units import count_text

_CLASSES = 8  # named; the others are counted


def print_made(made: Made) -> None:
    """Print what was made, what to know about it, and what to do next."""
    terminal = console()
    doubts = made.prepared.doubts  # of the data: nothing below matters if they are right
    terminal.print(problem_list(doubts))
    terminal.print(summary_panel(_config(made), _rows(made)))
    for note in made.notes:
        terminal.print(Text.assemble(("note: ", "bold"), note))
    for text in _left_out(made):
        terminal.print(Text.assemble(("left out: ", "bold yellow"), text))
    others = [each for each in made.warnings if each not in doubts]
    terminal.print(problem_list([*made.check.errors, *others]))
    if made.filling.start is None:
        _print_pretrained(terminal, made.recipe)
    terminal.print(Text.assemble(("\nNext: ", "bold green"), next_command(made)), soft_wrap=True)


def made_json(made: Made) -> dict[str, Any]:
    """Give what was made as JSON values."""
    filling, prepared = made.filling, made.prepared
    conversion = prepared.conversion
    return {
        "config": _config(made),
        "recipe": made.recipe.name,
        "format": prepared.format,
        "num_classes": filling.num_classes,
        "classes": prepared.statistics[TRAIN].classes,
        "label_map": filling.train_reader.label_map_path,
        "splits": {name: _split_json(made, name) for name in prepared.readers},
        "evaluates_on": made.prepared.eval_split,
        "input_size": made.recipe.input_size,
        "median_box_at_input": box_at_input(made.recipe, made.sizes)._asdict()
        if made.sizes
        else None,
        "schedule": asdict(filling.schedule),
        "start": asdict(filling.start) | {"version": filling.start.version.name}
        if filling.start
        else None,
        "notes": list(made.notes),
        "errors": [_problem_json(problem) for problem in made.check.errors],
        "warnings": [_problem_json(problem) for problem in made.warnings],
        "conversion": result_json(conversion) if conversion else None,
        "next": next_command(made),
    }


def next_command(made: Made) -> str:
    """Say how to train what was made."""
    run = f"runs/{made.folder.path.resolve().name}"
    return shlex.join(["holdfast", "train", _config(made), "--run", run])


def _config(made: Made) -> str:
    return shown_path(made.folder.shown / made.folder.config.name)


def _print_pretrained(terminal: Console, recipe: Recipe) -> None:
    hint = Text("\nIt starts from random weights, which need thousands of images and many hours. ")
    hint.append("Weights\ntrained on COCO need a few hundred images and minutes. Run this again,")
    hint.append(" into another folder, with\n")
    hint.append("  --pretrained", style="cyan")
    hint.append(f"\nwhich fetches {recipe.zoo or 'a classifier of ImageNet'}.")
    terminal.print(hint, soft_wrap=True)


def _rows(made: Made) -> Iterator[SummaryRow]:
    filling, schedule = made.filling, made.filling.schedule
    yield SummaryRow("network", f"{made.recipe.network} ({made.recipe.name})")
    yield SummaryRow("data", _data(made))
    yield SummaryRow("classes", _classes(made))
    for name in made.prepared.readers:
        yield SummaryRow(name, f"{_contents(made, name)}{_use(made, name)}")
    if made.sizes:
        image, box = made.sizes.image, box_at_input(made.recipe, made.sizes)
        yield SummaryRow("median image", f"{image.width:.0f} x {image.height:.0f} pixels")
        yield SummaryRow(
            "median box", f"{box.width:.3g} x {box.height:.3g} pixels at the network's input"
        )
    yield SummaryRow("input size", made.filling.input_reason)
    yield SummaryRow("anchors", _anchors(made))
    yield SummaryRow("batch size", str(schedule.batch_size))
    yield SummaryRow("steps", f"{schedule.num_steps}, about {schedule.epochs_text} epochs")
    yield SummaryRow("learning rate", _rate(made))
    start = filling.start
    yield SummaryRow(
        "starts from", f"{start.checkpoint} ({start.kind})" if start else "random weights"
    )


def _data(made: Made) -> str:
    place = (
        f"now in {shown_path(made.folder.shown / made.folder.records.name)}"
        if made.is_copied
        else "used in place"
    )
    return f"{made.prepared.format}, {place}"


def _classes(made: Made) -> str:
    boxes = made.prepared.statistics[TRAIN].classes
    shown = [f"{name} {count}" for name, count in list(boxes.items())[:_CLASSES]]
    others = len(boxes) - len(shown)
    more = f", and {others} more" if others else ""
    return f"{made.filling.num_classes}: {', '.join(shown)}{more} (boxes to train on)"


def _contents(made: Made, name: str) -> str:
    counts = _counts(made, name)
    if not counts:
        return "records"
    return f"{count_text(counts[0], 'image')}, {count_text(counts[1], 'box', 'boxes')}"


def _counts(made: Made, name: str) -> tuple[int, int] | None:
    """Count images and boxes of a split; None for records that nobody has looked at."""
    if statistics := made.prepared.statistics.get(name):
        return statistics.images, statistics.boxes
    if conversion := made.prepared.conversion:
        return conversion.splits[name].images, conversion.splits[name].boxes
    return None


def _use(made: Made, name: str) -> str:
    if name == made.prepared.eval_split:
        return ", for evaluation"
    return ", kept for the end: the config does not use them" if name == TEST else ""


def _anchors(made: Made) -> str:
    if not made.recipe.anchors:
        return "none: objects are found as peaks of a heatmap"
    if made.filling.anchors is None:
        return "the published ones: others would not cover clearly more boxes"
    return made.filling.anchors.reason


def _rate(made: Made) -> str:
    schedule = made.filling.schedule
    pair, reason = made.recipe.rate(trained_by(made.filling.start))
    origin = "published" if reason == "Published" else "found for such weights"
    return (
        f"{schedule.learning_rate:.4g} ({origin}: {pair.learning_rate:g} for "
        f"{count_text(pair.batch_size, 'image')}), warm-up of {schedule.warmup_steps} steps, "
        "cosine to 0"
    )


def _left_out(made: Made) -> Iterator[str]:
    """Sum up what cannot be used: by the conversion, and in records that were there already."""
    conversion = made.prepared.conversion
    for group in conversion.left_out if conversion else ():
        yield f"{_amount(group.images, group.boxes)}: {group.reason}: {group.examples[0]}"
    for statistics in made.prepared.statistics.values():
        for each in statistics.left_out:
            yield f"{_amount(each.images_affected, each.boxes)}: {each.reason}: {each.examples[0]}"


def _amount(images: int, boxes: int) -> str:
    pictures = count_text(images, "image")
    return f"{boxes} box{'' if boxes == 1 else 'es'} in {pictures}" if boxes else pictures


def _split_json(made: Made, name: str) -> dict[str, Any]:
    reader, counts = made.prepared.readers[name], _counts(made, name)
    assert reader.tf_record_input_reader is not None
    return {
        "images": counts[0] if counts else None,
        "boxes": counts[1] if counts else None,
        "input_path": list(reader.tf_record_input_reader.input_path),
    }


def _problem_json(problem: Problem) -> dict[str, str]:
    return {"path": problem.path, "message": problem.message, "fix": problem.fix}
