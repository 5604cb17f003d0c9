"""What `holdfast train` was asked to do, and what is said of its config before it begins."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.training.training_settings import TrainingSettings


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to train, by which settings, and where."""

    config: Path
    overrides: dict[str, str]
    use: tuple[str, ...]
    run: Path
    profile_at: int | None  # the first step that is traced
    settings: TrainingSettings

    @property
    def folder(self) -> Path:
        """Where relative paths of the config lead from: of a run's own config, where it was."""
        from holdfast.runs.run import CONFIG_NAME, Run, is_run
        from holdfast.store.gs_place import store_url

        if store_url(self.config):
            return Path()  # what it names is in the store as well, or in the working directory
        folder = self.config.parent
        is_of_run = self.config.name == CONFIG_NAME and is_run(folder)
        return Run.open(folder).config_folder if is_of_run else folder


def checked_job(terminal: Console, job: Job, *, quantizes: bool) -> Job:
    """Print what the config says; give the job with all that the config is to say."""
    job = _quantized(job) if quantizes else job
    _print_check(terminal, job)
    return job


def _quantized(job: Job) -> Job:
    """Let the config ask for quantization; one that cannot be read is told of later."""
    from holdfast.config.check_config import check_config
    from holdfast.training.quantization_choice import quantization_overrides

    config = check_config(job.config, job.overrides, job.folder, job.use).config
    if config is None:
        return job
    more = quantization_overrides(config, job.run, job.settings.steps)
    return replace(job, overrides={**more, **job.overrides})


def _print_check(terminal: Console, job: Job) -> None:
    """Print what the config says, and the doubts about it; errors are raised, all at once."""
    from holdfast.cli.terminal import problem_list, summary_panel
    from holdfast.config.check_config import check_config
    from holdfast.errors import ConfigError
    from holdfast.files import shown_path

    # Only here: in the run's config, num_steps stays what it was.
    length = {"train_config.num_steps": job.settings.steps} if job.settings.steps else {}
    report = check_config(job.config, job.overrides | length, job.folder, job.use)
    if not report.ok:
        command = shlex.join(["holdfast", "check", shown_path(job.config)])
        fix = (
            f"`{command}` ends with the options that would make it ready." if report.config else ""
        )
        raise ConfigError(shown_path(job.config), report.errors, fix=fix)
    shown = [row for row in report.summary if row.label not in _ASIDE]
    terminal.print(summary_panel(shown_path(job.config), shown))
    terminal.print(problem_list(report.warnings))


# Of the summary of a config, what is in the names of its parts already or is told below.
_ASIDE = {"extractor", "neck", "head", "feature maps", "steps", "label map", "starts from"}
