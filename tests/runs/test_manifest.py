import json

import pytest

from holdfast.errors import HoldfastError
from holdfast.runs.manifest import RunManifest, manifest_text, read_manifest

MANIFEST = RunManifest(
    config={"a": "Infinity"}, seed=1, versions={}, started="now", plan={"b": [1]}
)


def test_a_manifest_reads_as_it_was_written():
    assert read_manifest(manifest_text(MANIFEST), "x") == MANIFEST


def test_the_config_keeps_the_spelling_of_protobuf():
    assert read_manifest(manifest_text(MANIFEST), "x").config == {"a": "Infinity"}


def test_keys_of_a_later_version_are_ignored():
    text = json.dumps(json.loads(manifest_text(MANIFEST)) | {"color": "blue"})
    assert read_manifest(text, "x") == MANIFEST


def test_another_format_is_refused():
    text = json.dumps(json.loads(manifest_text(MANIFEST)) | {"format": 2})
    with pytest.raises(HoldfastError, match="has format 2"):
        read_manifest(text, "x")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": 1}', "null", '"a"'])
def test_what_is_no_manifest_is_named(text):
    with pytest.raises(HoldfastError, match=r"one/manifest\.json is not the manifest of a run"):
        read_manifest(text, "one/manifest.json")
