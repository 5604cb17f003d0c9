from __future__ import annotations

import pytest

from holdfast.config.load import load_config
from holdfast.config.part_choices import (
    PartChoice,
    choice_problems,
    chosen_part,
    parse_choice,
)
from holdfast.config.text.encode import encode, to_json
from holdfast.errors import HoldfastError
from holdfast.registry import Registry


def test_a_choice_is_a_kind_and_a_name():
    assert parse_choice("head=wide") == PartChoice(kind="head", name="wide")


@pytest.mark.parametrize(
    "text",
    [
        "augmentation=fog",
        "augmentation=fog,density=0.4",
        "augmentation=fog,color=(1, 2, 3),kind='soft, low',on=True",
    ],
)
def test_a_choice_is_written_as_it_is_read(text: str):
    assert str(parse_choice(text)) == text


def test_a_value_that_is_no_literal_is_a_text():
    assert parse_choice("head=wide,mode=deep").keywords == (("mode", "deep"),)


@pytest.mark.parametrize("text", ["", "head", "head=", "=wide", "head=wide,3", "haed=wide"])
def test_what_is_no_choice_is_refused_with_an_example_or_the_kinds(text: str):
    with pytest.raises(HoldfastError) as caught:
        parse_choice(text)
    assert "--use" in caught.value.fix or "head" in caught.value.fix


def test_of_several_heads_the_last_one_counts():
    choices = [parse_choice(each) for each in ("head=a", "augmentation=fog", "head=b")]
    assert chosen_part(choices, "head") == choices[-1]
    assert chosen_part(choices, "localization_loss") is None


def test_choices_travel_with_the_config_and_stay_out_of_its_text(tmp_path):
    path = tmp_path / "pipeline.config"
    path.write_text("train_config { batch_size: 4 }")
    config = load_config(path, {"train_config.batch_size": 8}, use=["head=wide"])
    assert config.parts == (PartChoice(kind="head", name="wide"),)
    assert config.without("train_config").parts == config.parts
    assert encode(config) == "train_config {\n  batch_size: 8\n}\n"
    assert to_json(config) == {"train_config": {"batch_size": 8}}


@pytest.fixture
def wide(monkeypatch) -> None:
    monkeypatch.setattr("holdfast.registry._TABLES", {})
    heads: Registry[object] = Registry("head")

    @heads.register("wide")
    def wide(features: object, *, width: int = 3) -> None: ...


@pytest.mark.usefixtures("wide")
def test_a_registered_part_with_its_keywords_gives_nothing_to_say():
    assert not list(choice_problems([parse_choice("head=wide,width=4")]))


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("head=wied", "there is no head 'wied'", "--import MODULE"),
        ("augmentation=fog", "there is no augmentation 'fog'", "--import MODULE"),
        ("head=wide,widht=4", "wide takes no 'widht'", "did you mean width?"),
        ("head=wide,x=4", "wide takes no 'x'", "it takes width"),
        ("head=wide,features=4", "wide takes no 'features'", "it takes width"),
        (
            "augmentation=random_horizontal_flip",
            "random_horizontal_flip has a field in pipeline.config",
            "write data_augmentation_options { random_horizontal_flip { } }",
        ),
    ],
)
def test_what_is_wrong_with_a_choice_is_said(text: str, message: str, fix: str):
    (problem,) = choice_problems([parse_choice(text)])
    assert (problem.message, problem.severity) == (message, "error")
    assert fix in problem.fix
    assert problem.path == f"--use {text}"
