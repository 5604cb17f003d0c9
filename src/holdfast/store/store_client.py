"""Asks Cloud Storage through google-cloud-storage; every call ends within seconds, or works."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from holdfast.extras import need_extra
from holdfast.store.gs_place import GsPlace
from holdfast.store.store_errors import StoreError, answer_error, unreached_error

T = TypeVar("T")
_CONNECT_SECONDS = 5.0
_ANSWER_SECONDS = 10.0
_TRANSFER_SECONDS = 60.0  # between two packets of a large file
_PATIENCE_SECONDS = 8.0


class StoredObject(NamedTuple):
    """An object without its content."""

    generation: int  # another one each time that it is written
    size_bytes: int


class StoreClient:
    """Objects read and written; StoreError says why one was not.

    patience_seconds: how long a call is repeated when the store is busy or does not answer.
    """

    def __init__(self, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._client = _client()
        self._patience_seconds = patience_seconds

    def read(self, place: GsPlace) -> bytes:
        """Give the content of an object."""
        blob = self._blob(place)
        content: bytes = self._asked(place, blob.download_as_bytes)
        return content

    def write(self, place: GsPlace, content: bytes, *, only_if: int | None = None) -> int:
        """Write an object, and give its generation.

        only_if: the generation to replace, 0 for none; else StoreError with the code 412.
        """
        blob = self._blob(place)
        self._asked(place, blob.upload_from_string, content, if_generation_match=only_if)
        return int(blob.generation)

    def upload(self, place: GsPlace, path: Path) -> int:
        """Write a file's content, and give the generation; it appears whole or not at all."""
        blob = self._blob(place)
        self._asked(place, blob.upload_from_filename, str(path), seconds=_TRANSFER_SECONDS)
        return int(blob.generation)

    def download(self, place: GsPlace, path: Path) -> None:
        """Write an object's content to a file, which appears whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        blob = self._blob(place)
        try:
            self._asked(place, blob.download_to_filename, str(temporary), seconds=_TRANSFER_SECONDS)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)

    def objects(self, place: GsPlace) -> dict[str, StoredObject]:
        """List what is below a place, by the rest of the name; {} if nothing is."""
        prefix = f"{place.name}/" if place.name else ""

        def listed(**options: Any) -> dict[str, StoredObject]:
            found = self._client.list_blobs(place.bucket, prefix=prefix, **options)
            return {
                each.name.removeprefix(prefix): StoredObject(int(each.generation), int(each.size))
                for each in found
            }

        return self._asked(place, listed)

    def find(self, place: GsPlace) -> StoredObject | None:
        """Give the object of exactly this name; None if there is none."""
        if not place.name:
            return None
        bucket = self._client.bucket(place.bucket)
        blob = self._asked(place, bucket.get_blob, place.name)
        return None if blob is None else StoredObject(int(blob.generation), int(blob.size))

    def delete(self, place: GsPlace, *, only_if: int | None = None) -> None:
        """Delete an object, unless it is gone already."""
        try:
            self._asked(place, self._blob(place).delete, if_generation_match=only_if)
        except StoreError as error:
            if error.code != 404:
                raise

    def _blob(self, place: GsPlace) -> Any:
        return self._client.bucket(place.bucket).blob(place.name)

    def _asked(
        self,
        place: GsPlace,
        call: Callable[..., T],
        *arguments: Any,
        seconds: float = _ANSWER_SECONDS,
        **options: Any,
    ) -> T:
        """Call Google's client, with limits of time, and say in our words what went wrong."""
        from google.cloud.storage.retry import DEFAULT_RETRY

        try:
            return call(
                *arguments,
                timeout=(_CONNECT_SECONDS, seconds),
                retry=DEFAULT_RETRY.with_timeout(self._patience_seconds),
                **options,
            )
        except OSError as error:
            if error.filename:  # of this machine's disk; a lost connection has none
                raise
            raise _in_words(str(place), error) from None
        except Exception as error:
            raise _in_words(str(place), error) from None


def _client() -> Any:
    """Make Google's client: without credentials it asks as anyone may, as TensorFlow does."""
    need_extra("cloud", "A gs:// place", "google.cloud.storage")
    from google.auth.exceptions import DefaultCredentialsError
    from google.cloud import storage

    try:
        return storage.Client()
    except DefaultCredentialsError:
        return storage.Client.create_anonymous_client()
    except OSError as error:  # no project is known: it is not needed either
        if "project" not in str(error).lower():
            raise
        return storage.Client(project="none")


def _in_words(place: str, error: BaseException) -> StoreError:
    """Find the answer of the store in the errors of its client, which wraps them."""
    from google.auth.exceptions import GoogleAuthError, TransportError

    for each in _causes(error):
        if isinstance(each, GoogleAuthError) and not isinstance(each, TransportError):
            return answer_error(place, 401)  # expired, or none where some are wanted
        code = getattr(each, "code", None) or getattr(
            getattr(each, "response", None), "status_code", None
        )
        if isinstance(code, int):
            return answer_error(place, int(code))
    last = str(_causes(error)[-1]).rstrip(".")
    why = "no connection" if "onnect" in last else "no answer" if "timed out" in last else last
    return unreached_error(place, why)


def _causes(error: BaseException) -> list[BaseException]:
    """List an error, and what was behind it."""
    found: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in found:
        found.append(each)
        each = getattr(each, "cause", None) or each.__cause__
    return found
