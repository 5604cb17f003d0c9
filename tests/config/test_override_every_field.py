"""Every field of the schema, and any text, as an override."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.config.schema.fields import FieldSpec, Kind, field_specs
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.config.schema.message import Message
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.config.text.encode import encode
from holdfast.config.text.overrides import apply_overrides

from .protobuf_oracle import all_messages, oracle_json
from .texts import config


class Place(NamedTuple):
    """A field of the schema, and how to get there."""

    root: type[Message]
    path: str  # as an override writes it
    text: str  # as a file writes it, with %s for the field
    spec: FieldSpec


def places() -> Iterator[Place]:
    """Every field of every message, by one path each."""
    for root in (TrainEvalPipelineConfig, StringIntLabelMap):
        seen = {root}
        waiting: list[tuple[type[Message], str, str]] = [(root, "", "%s")]
        while waiting:
            message, path, text = waiting.pop(0)
            for name, spec in field_specs(message).items():
                here = f"{path}.{name}" if path else name
                yield Place(root, here, text, spec)
                inner = (spec.entry.value if spec.entry else spec).message
                if inner is None or inner in seen:
                    continue
                seen.add(inner)
                if spec.entry:
                    block, index = (
                        f"{name} {{ key: {scalar(spec.entry.key)} value {{ %s }} }}",
                        "[7]",
                    )
                else:
                    block, index = f"{name} {{ %s }}", "[0]" if spec.repeated else ""
                waiting.append((inner, f"{here}{index}", text % block))


def scalar(spec: FieldSpec) -> str:
    """Give a value that differs from the defaults, as a file writes it."""
    match spec.kind:
        case Kind.ENUM:
            assert spec.enum is not None
            return list(spec.enum)[-1].name
        case Kind.MESSAGE:
            return "{ }"
    return {
        Kind.BOOL: "true",
        Kind.INT32: "7",
        Kind.UINT32: "4000000000",
        Kind.FLOAT: "-0.3125",
        Kind.STRING: '"7"',
    }[spec.kind]


def assert_set(place: Place, overrides: dict[str, Any], field: str) -> None:
    """Check overrides against Google's reading of the same setting written in a file."""
    message, problems = apply_overrides(place.root(), overrides)
    assert problems == [], overrides
    written = encode(message)
    expected = place.text % field
    assert oracle_json(written, place.root) == oracle_json(expected, place.root), overrides
    decoded = decode(written, place.root)
    assert decoded.problems == []
    assert decoded.message == message
    assert decoded.message == decode(expected, place.root).message


def test_every_field_of_the_schema_can_be_overridden_and_is_written_and_read_back():
    visited = list(places())
    messages = all_messages(TrainEvalPipelineConfig, StringIntLabelMap)
    assert len(visited) == sum(len(field_specs(message)) for message in messages)
    for place in visited:
        name, spec, path = place.spec.name, place.spec, place.path
        if spec.entry is not None:
            key, value = scalar(spec.entry.key), scalar(spec.entry.value)
            entry = f"{{ key: {key} value: {value} }}"
            assert_set(place, {path: entry}, f"{name} {entry}")
            assert_set(place, {path: f"[{entry}]"}, f"{name} {entry}")
            assert_set(place, {f"{path}[{key}]": value}, f"{name} {entry}")
            continue
        value = scalar(spec)
        if spec.repeated:
            twice = f"{name}: {value} {name}: {value}"
            assert_set(place, {path: f"[{value}, {value}]"}, twice)
            assert_set(place, {f"{path}[0]": value, f"{path}[1]": value}, twice)
        assert_set(place, {path: value}, f"{name}: {value}")
        if spec.enum is not None:
            for member in spec.enum:
                assert_set(place, {path: member.name}, f"{name}: {member.name}")
                assert_set(place, {path: str(member.value)}, f"{name}: {member.name}")


PATHS = st.one_of(
    st.sampled_from([place.path for place in places()]),
    st.text(alphabet="abtrain_config.[]0 ", max_size=20),
    st.text(max_size=8),
)


@settings(max_examples=300, deadline=None)
@given(PATHS, st.one_of(st.text(max_size=30), st.text(alphabet="{}[]<>:,;'\"\\ab07.\n ")))
def test_no_text_breaks_an_override(path: str, value: str):
    changed, problems = apply_overrides(config(), {path: value})
    if problems:
        assert changed == config()
    else:
        assert decode(encode(changed), TrainEvalPipelineConfig).message == changed
