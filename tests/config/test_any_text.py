"""No text, however broken, may end in anything but a list of problems with lines of the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf import text_format as protobuf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.config.text.encode import to_json

from .protobuf_oracle import oracle_json

CONFIG = r"""
# A pipeline with a little of everything.
model {
  ssd {
    num_classes: 0x10
    image_resizer: { fixed_shape_resizer { height: 300, width: 0454; } }
    feature_extractor <
      type: 'ssd_mobilenet_v2_keras'
      depth_multiplier: 1.0f
      conv_hyperparams { activation: 2 regularizer { l2_regularizer { weight: 4e-5 } } }
    >
    anchor_generator { ssd_anchor_generator { aspect_ratios: [1.0, 2, .5] scales: [] } }
    post_processing { score_converter: SIGMOID logit_scale: inf }
  }
}
train_config: {
  batch_size: 24
  data_augmentation_options { random_horizontal_flip { } }
  data_augmentation_options [ { ssd_random_crop { } }, { random_rotation90 { } } ]
  fine_tune_checkpoint: "D:\\models\\" 'ckpt-\060'  # joined
  freeze_variables: ["a\tb", "\303\251", "\u00e9"]
  use_bfloat16: t;
}
eval_config { super_categories { key: "animal" value: "cat" } }
eval_input_reader { tf_record_input_reader { input_path: "/data/*" } shuffle: False }
"""

PIECES = st.sampled_from(
    [
        *"{}<>[]:;,\"'\\#\n \t-+./0129xfeabt_",
        *("true", "1.5e3", '"a"', "nan", "0x1F", "010", "-inf"),
        *("model {", "batch_size", "train_config", "é", "\ufeff", "\x00", "\r\n"),
    ]
)


@st.composite
def mutated(draw, texts: list[str]) -> str:
    """A real config after a few slips of the finger, or cut off."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        length = draw(st.sampled_from([0, 1, 1, 2, 10]))
        text = text[:start] + draw(st.just("") | PIECES) + text[start + length :]
    return text[: draw(st.integers(0, len(text)))] if draw(st.integers(0, 9)) == 0 else text


def assert_reads_or_refuses(text: str, folder: Path) -> None:
    path = folder / "pipeline.config"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        config = holdfast.load_config(path)
    except holdfast.ConfigError as error:
        assert error.problems
        lines = len(text.split("\n"))
        assert all(1 <= problem.line <= lines for problem in error.problems)
    else:
        assert isinstance(config, TrainEvalPipelineConfig)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text())
def test_random_text_reads_or_is_refused(text, tmp_path):
    assert_reads_or_refuses(text, tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary())
def test_random_bytes_read_or_are_refused(content, tmp_path):
    path = tmp_path / "pipeline.config"
    path.write_bytes(content)
    try:
        holdfast.load_config(path)
    except holdfast.ConfigError as error:
        lines = len(content.split(b"\n"))
        # What is another kind of file as a whole, such as an image, is not wrong in a line.
        found = [problem.line for problem in error.problems if problem.line is not None]
        assert all(1 <= line <= lines for line in found)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.lists(PIECES).map("".join))
def test_text_made_of_grammar_reads_or_is_refused(text, tmp_path):
    assert_reads_or_refuses(text, tmp_path)


def test_the_sample_reads_as_protobuf_reads_it():
    decoded = decode(CONFIG, TrainEvalPipelineConfig)
    assert decoded.problems == []
    assert to_json(decoded.message) == oracle_json(CONFIG, TrainEvalPipelineConfig)


@settings(max_examples=300, deadline=None)
@given(text=mutated([CONFIG]))
def test_a_mutated_config_is_read_or_refused_as_protobuf_does(text):
    assert_agrees_with_protobuf(text)


def test_mutated_configs_of_users_are_read_or_refused_as_protobuf_does(corpus):
    paths = sorted((corpus / "user_configs").glob("*.config"))[::10]
    texts = [path.read_text(encoding="utf-8") for path in paths]

    @settings(max_examples=200, deadline=None)
    @given(text=mutated(texts))
    def agrees(text: str) -> None:
        assert_agrees_with_protobuf(text)

    agrees()


# Where Holdfast sides with the OD API's own version of protobuf (4.25), or with the grammar.
_DIFFERENCES = ("Invalid octal float", "does not have extensions")


def assert_agrees_with_protobuf(text: str) -> None:
    ours = decode(text, TrainEvalPipelineConfig)
    lines = {problem.line for problem in ours.problems}
    try:
        theirs = oracle_json(text.removeprefix("\ufeff"), TrainEvalPipelineConfig)
    except protobuf.ParseError as error:
        if any(difference in str(error) for difference in _DIFFERENCES):
            return
        assert lines, f"protobuf refuses this: {error}"
        at_end = error.GetLine() == len(text.split("\n"))
        assert at_end or error.GetLine() in lines, f"{error} but {ours.problems}"
    else:
        assert ours.problems == []
        assert to_json(ours.message) == theirs


@pytest.mark.parametrize("piece", ["model { ssd { num_classes: 1 } }\n", "modle: 1\n", "a {"])
def test_a_long_file_ends_in_problems_not_in_a_crash(piece):
    assert decode(piece * 20_000, TrainEvalPipelineConfig).problems
