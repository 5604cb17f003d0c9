"""Looks at buckets: that they are there, that this account may use them, where they are."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from holdfast.cloud.mounts import bucket_of
from holdfast.cloud.preflight.flight import Flight, Outcome
from holdfast.cloud.preflight.gcloud import ask_gcloud
from holdfast.doctor.checks import storage_unreachable
from holdfast.errors import HoldfastError

_ASKED_SECONDS = 15.0
_CONTINENTS = {"US": "us-", "EU": "europe-", "ASIA": "asia-"}


def look_at_credentials(flight: Flight) -> Iterator[Outcome]:
    """See whether Google's libraries would find credentials, if there is a bucket."""
    if not flight.buckets:
        return
    named = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")
    if named and (fault := _fault_of_key(Path(named))):
        what = f"GOOGLE_APPLICATION_CREDENTIALS names {named}, which {fault}."
        fix = "Correct it, or unset it."
        yield Outcome(name="credentials", ok=False, what=what, fix=fix)
    elif not storage_unreachable.has_credentials():
        what = "There are no credentials of Google Cloud here."
        fix = "gcloud auth application-default login"
        yield Outcome(name="credentials", ok=False, what=what, fix=fix)
    else:
        what = "There are credentials here; those of the job's service account are not known."
        yield Outcome(name="credentials", ok=True, what=what, is_unverified=True)


def _fault_of_key(path: Path) -> str:
    """Say why a file holds no credentials, without telling anything that is in it."""
    if not path.is_file():
        return "is not a file"
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return "is not JSON"
    return "" if isinstance(document, dict) and "type" in document else "holds no credentials"


def look_at_region(flight: Flight) -> Iterator[Outcome]:
    """Find what is no name of a region, such as a zone."""
    if not re.fullmatch(r"[a-z]+(-[a-z]+)+\d+", flight.region):
        zone = re.fullmatch(r"([a-z]+(?:-[a-z]+)+\d+)-[a-z]", flight.region)
        what = f"{flight.region} is {'a zone' if zone else 'not a region'}."
        fix = f"Give --region {zone[1] if zone else 'us-central1'}."
        yield Outcome(name="region", ok=False, what=what, fix=fix)


def look_at_buckets(flight: Flight) -> Iterator[Outcome]:
    """Ask for each bucket, and whether it is in the region of the job."""
    for bucket in flight.buckets:
        answer = storage_unreachable.ask(bucket)
        if answer.status == 404:
            what, fix = f"There is no bucket gs://{bucket}.", "Correct its name."
            yield Outcome(name="bucket", ok=False, what=what, fix=fix)
            continue
        if answer.status is None:
            what = f"gs://{bucket} cannot be asked from here: {answer.problem}."
            yield Outcome(name="bucket", ok=True, what=what, is_unverified=True)
        yield _region(flight, bucket)


def look_at_run_bucket(flight: Flight) -> Iterator[Outcome]:
    """Say what is wrong with the name of the run's place."""
    try:
        bucket_of(flight.run or "")
    except HoldfastError as error:
        yield Outcome(name="run", ok=False, what=error.message, fix=error.fix)


def _region(flight: Flight, bucket: str) -> Outcome:
    reply = ask_gcloud(
        *("storage", "buckets", "describe", f"gs://{bucket}", "--format=value(location)"),
        seconds=flight.seconds_left(_ASKED_SECONDS),
    )
    place = reply.output.decode(errors="replace").strip().upper()
    if reply.code != 0 or not place:
        what = f"The region of gs://{bucket} is not known: {reply.problem or 'no answer'}."
        return Outcome(name="region", ok=True, what=what, is_unverified=True)
    region = flight.region
    is_near = place == region.upper() or region.startswith(_CONTINENTS.get(place, "-"))
    what = f"gs://{bucket} is in {place}, the job in {region}."
    fix = "" if is_near else f"Run it with --region {place.lower()}, or copy the bucket."
    return Outcome(name="region", ok=is_near, what=what, fix=fix)
