"""What `holdfast doctor` prints: findings with their evidence, and a fix ready to paste."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from holdfast.cli.terminal import console
from holdfast.doctor.diagnose import Diagnosis
from holdfast.doctor.finding import Finding
from holdfast.units import count_text

_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
_ROWS = 8  # of a table inside the evidence
_CODES = 6  # named of those that were not looked at for one reason


def print_diagnosis(diagnosis: Diagnosis, title: str) -> None:
    """Print the findings, most severe first, the verdict, and what was not looked at."""
    terminal = console()
    for finding in diagnosis.findings:
        _print_finding(terminal, finding)
    terminal.print(_verdict(diagnosis, title))
    for line in _not_looked_at(diagnosis):
        terminal.print(Text(line, style="dim"), soft_wrap=True)


def _print_finding(terminal: Console, finding: Finding) -> None:
    head = Text(finding.severity, style=_STYLES[finding.severity])
    head.append(f"  {finding.code}", style="cyan not bold")
    terminal.print(head)
    for line in (Text(finding.what), Text(finding.why, style="dim")):
        terminal.print(Padding(line, (0, 0, 0, 4), expand=False))
    if finding.evidence:
        terminal.print(Padding(_evidence(finding.evidence), (0, 0, 0, 4), expand=False))
    terminal.print(
        Padding(Text(f"→ {finding.fix.text}", style="green"), (0, 0, 0, 4), expand=False)
    )
    for option in _to_paste(finding):  # on one line, however long: it is copied from here
        terminal.print(Text(f"    {option}", style="bold"), soft_wrap=True)
    terminal.print()


def _to_paste(finding: Finding) -> Iterator[str]:
    options = [shlex.quote(f"{path}={value}") for path, value in finding.fix.set.items()]
    if options:
        yield " ".join(f"--set {option}" for option in options)
    if finding.fix.command:
        yield finding.fix.command


def _evidence(evidence: Mapping[str, Any]) -> RenderableType:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="cyan")
    table.add_column(overflow="fold")
    inner: list[RenderableType] = []
    for name, value in evidence.items():
        if _is_table(value):
            inner.append(_rows_table(name, value))
        else:
            table.add_row(_words(name), _shown(value))
    return Group(*([table] if table.row_count else []), *inner)


def _is_table(value: Any) -> bool:
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return is_list and bool(value) and all(isinstance(row, Mapping) for row in value)


def _rows_table(name: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = Table(
        *map(_words, columns),
        title=_words(name),
        title_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
    )
    for row in rows[:_ROWS]:
        table.add_row(*(_shown(row.get(key, "")) for key in columns))
    if len(rows) > _ROWS:
        table.add_row(f"and {len(rows) - _ROWS} more")
    return table


def _shown(value: Any) -> str:
    match value:
        case bool() | None:
            return {True: "yes", False: "no", None: "-"}[value]
        case float():
            return f"{value:.4g}"
        case str() | int():
            return str(value)
        case Mapping():
            return ", ".join(f"{key} {_shown(each)}" for key, each in value.items())
    return ", ".join(map(_shown, value))


def _words(name: str) -> str:
    return name.replace("_", " ")


def _verdict(diagnosis: Diagnosis, title: str) -> Text:
    counts = {
        severity: sum(finding.severity == severity for finding in diagnosis.findings)
        for severity in _STYLES
    }
    verdict = Text(f"{title}: ")
    found = [count_text(count, severity) for severity, count in counts.items() if count]
    style = next((_STYLES[each] for each, count in counts.items() if count), "bold green")
    verdict.append(", ".join(found) or "nothing found", style=style)
    verdict.append(f"; looked for {len(diagnosis.looked_at)} kinds of findings")
    return verdict


def _not_looked_at(diagnosis: Diagnosis) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for each in diagnosis.not_looked_at:
        by_reason.setdefault(each.reason, []).append(each.code)
    for reason, codes in by_reason.items():
        more = f" and {len(codes) - _CODES} more" if len(codes) > _CODES else ""
        yield f"not looked at ({reason}): {', '.join(codes[:_CODES])}{more}"
