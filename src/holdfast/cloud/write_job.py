"""Write the files of a job into a folder, over nothing that someone has changed."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from holdfast.cloud.job_files.docker_image import docker_files
from holdfast.cloud.job_files.kubernetes_job import kubernetes_files
from holdfast.cloud.job_files.slurm_job import slurm_files
from holdfast.cloud.job_files.vertex_job import vertex_files
from holdfast.cloud.job_request import JobFile, JobRequest
from holdfast.cloud.mounts import bucket_of
from holdfast.errors import HoldfastError
from holdfast.files import refuse_remote, write_text


class JobKind(StrEnum):
    """What runs the job."""

    VERTEX = "vertex"
    KUBERNETES = "kubernetes"
    SLURM = "slurm"
    DOCKER = "docker"
    ALL = "all"


@dataclass(frozen=True, kw_only=True)
class WrittenJob:
    """What was written, the commands that start it by kind, and which kinds were left out."""

    files: tuple[Path, ...]
    commands: dict[str, tuple[str, ...]]
    left_out: dict[str, str]


def write_job(job: JobRequest, kind: JobKind, folder: Path, *, replaces: bool) -> WrittenJob:
    """Write the files of one kind, or of all that can run the job.

    replaces: whether files that are there with another content are written over; else they are an
    error, and nothing is written.
    """
    refuse_remote(folder, "the folder of a job's files")
    wanted = list(_MAKERS) if kind is JobKind.ALL else _with_image(kind)
    reasons = {each: reason for each in wanted if (reason := _reason_against(job, each))}
    if kind in reasons:
        raise HoldfastError(reasons[kind], fix="Name another --run, or another kind with --for.")
    made = {each: _MAKERS[each](job) for each in wanted if each not in reasons}
    files = {folder / file.name: file for each in made.values() for file in each}
    if not replaces:
        _refuse_changed(files)
    for path, file in files.items():
        write_text(path, file.text)
    return WrittenJob(
        files=tuple(files),
        commands={
            each.value: tuple(_commands(made_files, folder)) for each, made_files in made.items()
        },
        left_out={each.value: reason for each, reason in reasons.items()},
    )


def _with_image(kind: JobKind) -> list[JobKind]:
    """Vertex and Kubernetes run an image, which has to be built first."""
    return [kind] if kind in (JobKind.SLURM, JobKind.DOCKER) else [JobKind.DOCKER, kind]


def _reason_against(job: JobRequest, kind: JobKind) -> str:
    in_bucket = bucket_of(job.run) is not None
    if kind is JobKind.SLURM and job.run.startswith("gs://"):
        return f"Slurm's nodes write to a folder that they share, and {job.run} is a bucket."
    if kind in (JobKind.VERTEX, JobKind.KUBERNETES) and not in_bucket:
        return f"{job.run} is not in a bucket (gs://…), and would be lost with the machine."
    return ""


def _refuse_changed(files: dict[Path, JobFile]) -> None:
    changed = [
        str(path)
        for path, file in files.items()
        if path.exists() and (not path.is_file() or path.read_bytes() != file.text.encode())
    ]
    if changed:
        raise HoldfastError(
            f"{', '.join(changed)} would be written over: what is there differs.",
            fix="Name another folder with --out, or add --replace.",
        )


def _commands(files: Sequence[JobFile], folder: Path) -> Iterator[str]:
    for file in files:
        for command in file.commands:
            yield command.replace("OUT", shlex.quote(str(folder)))


_MAKERS: dict[JobKind, Callable[[JobRequest], tuple[JobFile, ...]]] = {
    JobKind.DOCKER: docker_files,
    JobKind.VERTEX: vertex_files,
    JobKind.KUBERNETES: kubernetes_files,
    JobKind.SLURM: slurm_files,
}
