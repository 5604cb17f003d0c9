"""The Dockerfile: Python, Holdfast with TensorFlow's CUDA packages, and the config."""

from __future__ import annotations

from holdfast.cloud.job_request import CONFIG_IN_IMAGE, JobFile, JobRequest
from holdfast.cloud.mounts import config_with_mounts

_TEXT = """\
# The image of a training. CUDA and cuDNN come with TensorFlow's own packages: the machine has to
# bring nothing but NVIDIA's driver.
FROM python:3.12-slim

# Holdfast as a wheel, which has to lie beside this file.
COPY holdfast-*.whl /wheels/
RUN pip install --no-cache-dir "$(ls /wheels/holdfast-*.whl)[cuda,cloud]"

COPY pipeline.config {config}
WORKDIR /job
ENV PYTHONUNBUFFERED=1
# No shell in between: a notice of preemption (SIGTERM) reaches the training, which then saves.
ENTRYPOINT []
CMD {command}
"""


def docker_files(job: JobRequest) -> tuple[JobFile, ...]:
    """Write the Dockerfile, and the config with its gs:// paths as those of the mounts."""
    command = "[" + ", ".join(f'"{word}"' for word in job.command()) + "]"
    text = _TEXT.format(config=CONFIG_IN_IMAGE, command=command)
    return (
        JobFile("pipeline.config", config_with_mounts(job.config_text), ()),
        JobFile(
            "Dockerfile",
            text,
            (
                "pip wheel --no-deps --wheel-dir OUT HOLDFAST_SOURCE",
                f"docker build --platform linux/amd64 --tag {job.image} OUT",
                f"docker push {job.image}",
            ),
        ),
    )
