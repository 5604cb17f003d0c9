"""What `holdfast adapt` says: every change with its reason, and what else there is."""

from __future__ import annotations

import shlex
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from holdfast.cli.adapt.findings import needs_class_weights
from holdfast.cli.terminal import console, problem_list
from holdfast.config.schema.message import Message
from holdfast.config.text.encode import encode, to_json
from holdfast.data.survey.pooled_boxes import PoolCoverage
from holdfast.projects.adapting.adapt_config import Adapted
from holdfast.projects.adapting.alternatives import Alternative
from holdfast.projects.adapting.field_change import FieldChange
from holdfast.units import bytes_text


def print_adapted(adapted: Adapted) -> None:
    """Print the changes, what they bring, what else there is, and what to do next."""
    terminal = console()
    for each in adapted.changes:
        terminal.print(_change(each))
    if not adapted.changes:
        terminal.print("Nothing had to be changed.")
    for line in _effects(adapted):
        terminal.print(line)
    if adapted.alternatives:
        terminal.print(_table(adapted.alternatives))
        for other in adapted.alternatives[1:]:
            terminal.print(Text(f"  {other.name}: {other.command}", style="cyan"), soft_wrap=True)
    for note in adapted.notes:
        terminal.print(Text.assemble(("note: ", "bold"), note))
    terminal.print(problem_list([*adapted.check.errors, *adapted.check.warnings]))
    terminal.print(Text.assemble(("Written: ", "bold green"), str(adapted.out)), soft_wrap=True)
    terminal.print(Text.assemble(("Next: ", "bold green"), next_command(adapted)), soft_wrap=True)


def adapted_json(adapted: Adapted) -> dict[str, Any]:
    """Give what came of it as JSON values."""
    anchors = adapted.anchors
    before, after = (anchors.before, anchors.after) if anchors else (None, None)
    return {
        "config": str(adapted.out),
        "changes": [
            {
                "path": each.path,
                "before": _json(each.before),
                "after": _json(each.after),
                "why": each.why,
            }
            for each in adapted.changes
        ],
        "coverage": {
            "before": before.all if before else None,
            "after": after.all if after else None,
        },
        "coverage_of_classes": {
            "before": before.classes if before else None,
            "after": after.classes if after else None,
        },
        "predicted_peak_bytes": {"before": adapted.peak_before, "after": adapted.peak_after},
        "fits": adapted.fits,
        "alternatives": [_alternative_json(each) for each in adapted.alternatives],
        "notes": list(adapted.notes),
        "errors": [f"{each.path}: {each.message}" for each in adapted.check.errors],
        "next": next_command(adapted),
    }


def next_command(adapted: Adapted) -> str:
    """Say how to train with the new config, or what it still lacks."""
    if not adapted.check.ok:
        return shlex.join(["holdfast", "check", str(adapted.out)])
    weights = ["--class-weights", "auto"] if needs_class_weights(adapted.config) else []
    run = f"runs/{adapted.out.stem}"
    return shlex.join(["holdfast", "train", str(adapted.out), "--run", run, *weights])


def _change(each: FieldChange) -> RenderableType:
    lines = [
        Text(f"{sign} {line}", style=style)
        for sign, style, value in (("-", "red", each.before), ("+", "green", each.after))
        if value is not None
        for line in _value_text(value).splitlines()
    ]
    reason = Text(each.why, style="dim")
    parts = [Padding(line, (0, 0, 0, 2), expand=False) for line in (*lines, reason)]
    return Group(Text(each.path, style="cyan"), *parts)


def _effects(adapted: Adapted) -> list[Text]:
    lines = []
    if adapted.anchors is not None:
        before, after = adapted.anchors.before, adapted.anchors.after
        text = f"anchors near enough: {after.all:.1%} of all boxes, {before.all:.1%} before"
        lines.append(Text(text))
        for name in sorted(after.classes, key=lambda each: before.classes[each]):
            text = f"  {name}: {after.classes[name]:.1%}, {before.classes[name]:.1%} before"
            lines.append(Text(text))
    before_bytes, after_bytes = (_bytes(each) for each in (adapted.peak_before, adapted.peak_after))
    lines.append(Text(f"predicted peak memory: {after_bytes}, {before_bytes} before"))
    return lines


def _table(alternatives: tuple[Alternative, ...]) -> Table:
    """Set ways to detect at this resolution side by side."""
    table = Table(box=None, header_style="cyan", padding=(0, 2, 0, 0), title_justify="left")
    table.add_column("at this resolution")
    for name in ("input", "peak memory", "boxes with anchor", "worst class", "COCO mAP"):
        table.add_column(name, justify="right")
    for each in alternatives:
        accuracy = f"{each.coco_map:g} at {each.published_side}" if each.coco_map else "-"
        table.add_row(
            each.name,
            each.input,
            _bytes(each.predicted_peak_bytes),
            f"{each.coverage.all:.1%}" if each.coverage else "-",
            f"{min(each.coverage.classes.values()):.1%}" if each.coverage else "-",
            accuracy,
        )
    return table


def _alternative_json(each: Alternative) -> dict[str, Any]:
    return {
        "name": each.name,
        "input": each.input,
        "predicted_peak_bytes": each.predicted_peak_bytes,
        "coverage": each.coverage.all if each.coverage else None,
        "coverage_of_classes": _classes(each.coverage),
        "coco_map": each.coco_map,
        "published_side": each.published_side,
        "command": each.command,
    }


def _classes(coverage: PoolCoverage | None) -> dict[str, float] | None:
    return dict(coverage.classes) if coverage is not None else None


def _bytes(value: int | None) -> str:
    return "unknown" if value is None else bytes_text(value)


def _value_text(value: Any) -> str:
    if isinstance(value, Message):
        return encode(value).rstrip()
    if isinstance(value, tuple):
        if any(isinstance(each, Message) for each in value):
            return "\n".join(_value_text(each).replace("\n", " ") for each in value)
        return f"[{', '.join(map(_value_text, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _json(value: Any) -> Any:
    if isinstance(value, Message):
        return to_json(value)
    if isinstance(value, tuple):
        return [_json(each) for each in value]
    return getattr(value, "name", value)  # an enum by its name
