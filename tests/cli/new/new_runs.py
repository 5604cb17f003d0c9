"""Calls of `holdfast new` in this process."""

from __future__ import annotations

import json

import typer
from typer.testing import CliRunner

from holdfast.cli.new.new_command import new
from holdfast.errors import HoldfastError

app = typer.Typer()
app.command()(new)
SYNTHETIC = ("--data", "10@64", "--format", "synthetic")


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def made(*arguments):
    """Run it, expect success, and give the JSON document."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refusal(*arguments) -> HoldfastError:
    error = run(*arguments).exception
    assert isinstance(error, HoldfastError), error
    return error
