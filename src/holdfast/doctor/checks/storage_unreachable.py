"""storage-unreachable: files in the cloud that cannot be listed from here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from holdfast.config.paths import expand, is_remote
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.walk import walk
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix, Severity

_PATHS = {"input_path", "label_map_path", "fine_tune_checkpoint"}
_STORAGE = "https://storage.googleapis.com"
_SECONDS = 3.0
_GONE, _REFUSED = {404}, {401, 403}


class Answer(NamedTuple):
    """What a bucket said to a question for its list: a status, or why there was none."""

    status: int | None
    problem: str


@check("storage-unreachable", about="machine")
def storage_unreachable(case: Case) -> Iterator[Finding]:
    """Files of the config lie in a bucket that this machine cannot list.

    Why it happens: the name of the bucket is wrong, the machine has no credentials for it, or no
    way out to the network. Training fails when it opens its first file, or waits for minutes.

    How it is seen: the bucket of each gs:// path is asked for its list, for 3 seconds at most. A
    bucket that is not there is an error. One that refuses, where no credentials are set, and a
    machine without a network are warnings.

    What helps: `gcloud auth application-default login`, or a service account with access.
    """
    for bucket, field in _buckets(case.config).items():
        answer = ask(bucket)
        if (judged := _judged(answer)) is None:
            continue
        severity, why = judged
        yield Finding(
            code="storage-unreachable",
            severity=severity,
            what=f"gs://{bucket} cannot be listed: {why}.",
            why="A training cannot read what it cannot list.",
            evidence={
                "bucket": bucket,
                "field": field,
                "status": answer.status,
                "has_credentials": has_credentials(),
            },
            fix=Fix(
                text="Correct the bucket's name."
                if answer.status in _GONE
                else "Give this machine access to it, or copy the files here.",
                command=None if answer.status in _GONE else "gcloud auth application-default login",
            ),
        )


def ask(bucket: str) -> Answer:
    """Ask a bucket for one name of its list, without credentials."""
    import urllib.error  # here: it takes longer to load than all checks take
    import urllib.request

    try:
        with urllib.request.urlopen(f"{_STORAGE}/{bucket}?max-keys=1", timeout=_SECONDS) as reply:
            return Answer(reply.status, "")
    except urllib.error.HTTPError as error:
        return Answer(error.code, str(error.reason))
    except (OSError, ValueError) as error:
        return Answer(None, str(getattr(error, "reason", error)))


def has_credentials() -> bool:
    """Tell whether Google's libraries would find credentials here."""
    named = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")
    usual = Path.home() / ".config" / "gcloud" / "application_default_credentials.json"
    return Path(named).is_file() if named else usual.is_file()


def _judged(answer: Answer) -> tuple[Severity, str] | None:
    if answer.status in _GONE:
        return "error", "there is no such bucket"
    if answer.status in _REFUSED:
        return None if has_credentials() else ("warning", "it is private, without credentials here")
    return ("warning", answer.problem) if answer.status is None else None


def _buckets(config: TrainEvalPipelineConfig) -> dict[str, str]:
    """List the buckets of Google's storage, each with the first field that names it."""
    buckets: dict[str, str] = {}
    for field in walk(config):
        if field.spec.name not in _PATHS or not isinstance(field.value, str):
            continue
        path = expand(field.value)
        found = re.match(r"gs://([a-z0-9][a-z0-9._-]+)(/|$)", path) if is_remote(path) else None
        if found:
            buckets.setdefault(found[1], field.path)
    return buckets
