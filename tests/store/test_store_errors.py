import pytest

from holdfast.store.store_errors import answer_error, tensorflow_error, unreached_error


@pytest.mark.parametrize(
    ("code", "what"),
    [
        (401, "credentials"),
        (403, "may not"),
        (404, "no such object"),
        (429, "too many requests"),
        (503, "does not work"),
        (418, "answers 418"),
    ],
)
def test_each_answer_says_what_and_what_to_do(code, what):
    error = answer_error("gs://cells/a", code)
    assert what in error.message
    assert str(code) in error.message
    assert error.message.startswith("gs://cells/a: ")
    assert error.fix
    assert error.code == code


def test_a_store_that_does_not_answer_has_no_code():
    assert unreached_error("gs://cells/a", "no connection").code is None


def test_tensorflows_text_is_translated():
    denied = RuntimeError(
        "{{node}} Error executing an HTTP request: HTTP response code 403 with body '{}'\n"
        "\t when reading gs://cells/train.record"
    )
    found = tensorflow_error(denied)
    assert found is not None
    assert found.code == 403
    assert found.message.startswith("gs://cells/train.record: ")


def test_a_connection_that_tensorflow_cannot_make_is_told():
    dead = RuntimeError(
        "All 3 retry attempts failed. The last failure: Error executing an HTTP request: libcurl "
        "code 7 meaning 'Could not connect to server', error details: Failed to connect"
    )
    found = tensorflow_error(dead, "gs://cells/a")
    assert found is not None
    assert "cannot be reached (Could not connect to server)" in found.message


def test_errors_about_other_things_are_left_alone():
    assert tensorflow_error(RuntimeError("corrupted record at 0")) is None


def test_an_address_of_the_web_is_said_to_be_one():
    said = "File system scheme 'https' not implemented (file: 'https://x.org/a.zip')"
    error = tensorflow_error(Exception(said), "https://x.org/a.zip")
    assert error.message == "https://x.org/a.zip: Holdfast does not read https:// addresses."
    assert "Download it" in error.fix
