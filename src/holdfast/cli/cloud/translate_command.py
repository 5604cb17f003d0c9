"""`holdfast cloud translate`: a script of AI Platform, as commands of today."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.options import JsonOption


def translate(
    script: Annotated[Path, typer.Argument(metavar="SCRIPT", help="A shell script.")],
    as_json: JsonOption = False,
) -> None:
    """Translate a script of AI Platform, which was shut down in January 2025.

    Says what becomes of each option of `gcloud ai-platform jobs submit training` (or ml-engine),
    and prints the command of `holdfast cloud job` in its place. Nothing is started.

    Exit code: 0 translated, 2 there is no such submission in the file.

    Example: `holdfast cloud translate train_on_ai_platform.sh`
    """
    from rich.text import Text

    from holdfast.cli.terminal import console
    from holdfast.cloud.old_script import translate_script

    found = translate_script(script.read_text(encoding="utf-8", errors="replace"))
    if as_json:
        rows = [{"option": each.option, "became": each.became} for each in found.options]
        typer.echo(json.dumps({"options": rows, "command": found.command}, indent=1))
        return
    terminal = console()
    for each in found.options:
        terminal.print(
            Text(each.option, style="bold") + Text(f"  →  {each.became}"), soft_wrap=True
        )
    terminal.print(Text(f"\n{shlex.join(found.command)}", style="cyan"), soft_wrap=True)
