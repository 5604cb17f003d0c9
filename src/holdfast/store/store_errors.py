"""What a store answers when it does not do what it was asked, in words a user can act on."""

from __future__ import annotations

import re

from holdfast.errors import HoldfastError

_TRIED = "Holdfast kept trying for some seconds"
_ANSWERS = {
    401: (
        "the store wants credentials that it knows (401)",
        "Log in with `gcloud auth application-default login`, or let GOOGLE_APPLICATION_CREDENTIALS"
        " name the key file of a service account.",
    ),
    403: (
        "the account may not do that (403)",
        "Give it the role Storage Object Viewer on the bucket to read, Storage Object Admin for a "
        "run.",
    ),
    404: ("there is no such object or bucket (404)", "Check the name."),
    412: ("another process changed it meanwhile (412)", "Only one process may write there."),
    429: (f"the store has too many requests (429); {_TRIED}", "Start the same command later."),
}


class StoreError(HoldfastError):
    """A store refused, or did not answer; `code` is its HTTP status, None without an answer."""

    def __init__(self, message: str, *, fix: str = "", code: int | None = None) -> None:
        super().__init__(message, fix=fix)
        self.code = code


def answer_error(place: str, code: int) -> StoreError:
    """Say what an HTTP status means for a place.

    >>> answer_error("gs://cells/map.pbtxt", 403).message
    'gs://cells/map.pbtxt: the account may not do that (403).'
    """
    if code in _ANSWERS:
        what, fix = _ANSWERS[code]
    elif code >= 500:
        what = f"the store does not work at the moment ({code}); {_TRIED}"
        fix = "Start the same command later."
    else:
        what, fix = f"the store answers {code}", "--debug shows where it happened."
    return StoreError(f"{place}: {what}.", fix=fix, code=code)


def unreached_error(place: str, why: str) -> StoreError:
    """Say that no answer came."""
    return StoreError(
        f"{place}: the store cannot be reached ({why}); {_TRIED}.",
        fix="Check the network of this machine, and HTTPS_PROXY if there is a proxy.",
    )


def tensorflow_error(error: Exception, place: str | None = None) -> StoreError | None:
    """Translate what TensorFlow says when it reads gs:// itself; None if it is about other things.

    TensorFlow's text is all there is: its classes are the same for local files.
    """
    text = str(error)
    if scheme := re.search(r"File system scheme '([^']*)' not implemented", text):
        return StoreError(
            f"{place or scheme[1]}: Holdfast does not read {scheme[1]}:// addresses.",
            fix="Download it first, or copy it to gs://.",
        )
    found = re.search(r"gs://[^\s'\",]+", text)
    place = place or (found[0] if found else "gs://…")
    if code := re.search(r"HTTP response code (\d{3})", text):
        return answer_error(place, int(code[1]))
    if failure := re.search(r"libcurl code \d+ meaning '([^']+)'", text):
        return unreached_error(place, failure[1])
    return None
