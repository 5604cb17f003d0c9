"""`holdfast cloud`: the commands for rented machines."""

from __future__ import annotations

import typer

from holdfast.cli.cloud.cloud_check_command import check
from holdfast.cli.cloud.job_command import job
from holdfast.cli.cloud.submit_command import submit
from holdfast.cli.cloud.translate_command import translate
from holdfast.cli.help_page import CommandHelp, GroupHelp

cloud = typer.Typer(
    name="cloud",
    cls=GroupHelp,
    help="Check a training for a machine of the cloud, and write the job that runs it there.",
    no_args_is_help=True,
)
for _command in (check, job, submit, translate):
    cloud.command(cls=CommandHelp)(_command)
