from __future__ import annotations

import pytest

from holdfast import cli

from .commands import holdfast


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_ctrl_c_in_any_command_is_answered_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr("holdfast.config.check_config.check_config", interrupt)
    stopped = holdfast("check", tmp_path / "pipeline.config")
    assert (stopped.code, stopped.out, stopped.err) == (130, "", "Stopped.\n")


def test_ctrl_c_while_the_command_is_loaded_is_answered_in_one_line(capsys):
    cli._answer(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert capsys.readouterr().err == "Stopped.\n"


def test_other_errors_keep_their_traceback(capsys):
    with pytest.raises(ValueError, match="odd") as caught:
        raise ValueError("odd")
    cli._answer(caught.type, caught.value, caught.tb)
    assert "ValueError: odd" in capsys.readouterr().err
