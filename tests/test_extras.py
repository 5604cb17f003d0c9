"""A package that is missing is named, with the command that installs it."""

from __future__ import annotations

import pytest

from holdfast.errors import HoldfastError
from holdfast.extras import need_extra


def test_only_what_is_missing_is_named():
    with pytest.raises(HoldfastError) as raised:
        need_extra("video", "A video", "json", "no_such_package")
    assert raised.value.message == (
        "A video needs no_such_package, which this environment does not have."
    )
    assert raised.value.fix == 'Run `pip install "holdfast[video]"`.'
    need_extra("video", "A video", "json")
