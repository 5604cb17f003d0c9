import re
from collections import Counter
from pathlib import Path

import pytest

from holdfast.config.facts.extractors import (
    EXTRACTORS,
    OD_API_EXTRACTORS,
    Extractor,
    extractor,
    extractor_names,
    nearest_names,
    smaller_extractor,
)

# A fork's own network: one user's config names it, the OD API never had it.
FOREIGN = {"ssd_efficientnet-custom"}

SAME_NETWORK = [
    ("ssd_mobilenet_v1", "ssd_mobilenet_v1_keras"),
    ("ssd_mobilenet_v1_fpn", "ssd_mobilenet_v1_fpn_keras"),
    ("ssd_mobilenet_v2", "ssd_mobilenet_v2_keras"),
    ("ssd_mobilenet_v2_fpn", "ssd_mobilenet_v2_fpn_keras"),
    ("ssd_resnet50_v1_fpn", "ssd_resnet50_v1_fpn_keras"),
    ("ssd_resnet101_v1_fpn", "ssd_resnet101_v1_fpn_keras"),
    ("ssd_resnet152_v1_fpn", "ssd_resnet152_v1_fpn_keras"),
    ("faster_rcnn_resnet50", "faster_rcnn_resnet50_keras"),
    ("faster_rcnn_resnet101", "faster_rcnn_resnet101_keras"),
    ("faster_rcnn_resnet152", "faster_rcnn_resnet152_keras"),
    ("faster_rcnn_inception_resnet_v2", "faster_rcnn_inception_resnet_v2_keras"),
]


def known(name: str) -> Extractor:
    found = extractor(name)
    assert found is not None, name
    return found


def parts(name: str) -> tuple[str, str, str | None, str]:
    found = known(name)
    return found.architecture, found.backbone, found.neck, found.head


def test_the_table_of_the_od_api_has_as_many_names_as_it():
    counts = Counter(each.architecture for each in OD_API_EXTRACTORS.values())
    assert counts == {"ssd": 25 + 15, "faster_rcnn": 7 + 7, "center_net": 14}
    assert list(OD_API_EXTRACTORS) == list(extractor_names())[: counts.total()]


def test_a_name_of_ones_own_is_found_beside_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(EXTRACTORS, "_entries", dict(OD_API_EXTRACTORS))
    EXTRACTORS.register("ssd_tiny_fpn")(Extractor("ssd", "tiny", "fpn", "weight_shared", "tf2"))
    assert known("ssd_tiny_fpn").backbone == "tiny"
    assert extractor_names("ssd")[-1] == "ssd_tiny_fpn"
    assert "ssd_tiny_fpn" not in OD_API_EXTRACTORS


@pytest.mark.parametrize(("tf1", "tf2"), SAME_NETWORK)
def test_tf1_and_tf2_names_of_one_network_give_the_same_parts(tf1: str, tf2: str):
    assert parts(tf1) == parts(tf2)
    assert (known(tf1).generation, known(tf2).generation) == ("tf1", "tf2")


@pytest.mark.parametrize("name", OD_API_EXTRACTORS)
def test_a_substitute_is_built_and_has_the_same_architecture(name: str):
    substitute = known(name).nearest
    if substitute is not None:
        assert known(substitute).nearest is None
        assert known(substitute).architecture == known(name).architecture


@pytest.mark.parametrize("name", OD_API_EXTRACTORS)
def test_keras_names_and_only_they_and_center_net_are_of_tf2(name: str):
    found = known(name)
    tf2 = name.endswith("_keras") or found.architecture == "center_net"
    assert found.generation == ("tf2" if tf2 else "tf1")


def test_the_same_parts_on_a_smaller_backbone_have_a_name_or_none():
    assert smaller_extractor("ssd_resnet152_v1_fpn", "resnet101_v1") == "ssd_resnet101_v1_fpn"
    assert smaller_extractor("ssd_mobilenet_v1", "mobilenet_v9") is None
    assert smaller_extractor("ssd_nothing", "mobilenet_v1") is None


def test_an_unknown_name_gives_none():
    assert extractor("ssd_mobilenet_v9") is None
    assert extractor("") is None


def test_nearest_names_come_best_first_and_no_more_than_asked():
    assert nearest_names("ssd_mobilenet_v2_fpn_kears")[0] == "ssd_mobilenet_v2_fpn_keras"
    assert len(nearest_names("ssd_resnet_v1_fpn", count=2)) == 2
    assert nearest_names("zzz") == ()


def test_nearest_names_can_be_limited_to_one_architecture():
    assert nearest_names("mobilenet_v2")[0] == "mobilenet_v2"
    assert nearest_names("mobilenet_v2", architecture="ssd")[0] == "ssd_mobilenet_v2"


def test_every_extractor_named_in_the_corpus_is_known(corpus: Path):
    configs = [*corpus.glob("zoo_configs/*/*.config"), *corpus.glob("user_configs/*.config")]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in configs]
    names = {name for text in texts for name in re.findall(r"\btype\s*:\s*['\"](.+?)['\"]", text)}
    assert len(names) > 40
    assert {name for name in names if extractor(name) is None} == FOREIGN
