"""What there is to be found, as `holdfast doctor --list` and `--explain` print it."""

from __future__ import annotations

import json

import typer

from holdfast.doctor.check import CHECKS, all_checks


def print_list(*, as_json: bool) -> None:
    """Print every code with the sentence about it, by what it is about."""
    every = all_checks()
    if as_json:
        rows = [
            {
                "code": each.code,
                "about": each.about,
                "needs": list(each.needs),
                "what": each.sentence,
            }
            for each in every
        ]
        typer.echo(json.dumps(rows, indent=1))
        return
    from rich.text import Text

    from holdfast.cli.terminal import console

    terminal = console()
    for about in dict.fromkeys(each.about for each in every):
        terminal.print(Text(about, style="bold"))
        for each in every:
            if each.about == about:
                code = Text(f"  {each.code:<28}", style="cyan")
                terminal.print(code + Text(each.sentence), soft_wrap=True)


def print_page(code: str, *, as_json: bool) -> None:
    """Print the page about a finding."""
    all_checks()
    found = CHECKS[code]
    if as_json:
        page = {"code": code, "about": found.about, "needs": list(found.needs), "page": found.page}
        typer.echo(json.dumps(page, indent=1))
    else:
        typer.echo(f"{code} ({found.about})\n\n{found.page}")
