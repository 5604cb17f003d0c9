from __future__ import annotations

from typer.testing import CliRunner

from holdfast.cli.main import app
from holdfast.errors import HoldfastError


def test_a_file_that_is_not_a_capsule_is_refused_with_where_to_find_one(tmp_path):
    (tmp_path / "a.capsule").write_text("no zip archive")
    result = CliRunner().invoke(app, ["replay", str(tmp_path / "a.capsule")])
    assert isinstance(result.exception, HoldfastError)
    assert "not a capsule" in result.exception.message
    assert "capsules of a run" in result.exception.fix
