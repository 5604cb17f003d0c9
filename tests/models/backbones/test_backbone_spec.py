from __future__ import annotations

import inspect

import pytest

from holdfast.config.facts.extractors import EXTRACTORS, OD_API_EXTRACTORS, extractor
from holdfast.errors import HoldfastError
from holdfast.models.backbones.backbone_spec import BACKBONES, BackboneSpec, backbone

BUILT = {
    name: each
    for name, each in OD_API_EXTRACTORS.items()
    if each.architecture == "ssd" and each.nearest is None
}


@pytest.fixture
def forgotten(monkeypatch) -> None:
    """What a test registers is gone after it."""
    for table in (BACKBONES, EXTRACTORS):
        monkeypatch.setattr(table, "_entries", dict(table._entries))
        monkeypatch.setattr(table, "_makers", dict(table._makers))


@pytest.mark.parametrize("name", BUILT)
def test_every_extractor_that_is_built_has_a_row_with_the_levels_of_its_neck(name: str):
    known = BUILT[name]
    levels = {"ssd_layers": (4, 5), "fpn": (2, 3, 4, 5), "bifpn": (3, 4, 5)}[known.neck]
    assert len(BACKBONES[known.backbone].endpoints(known.neck, levels)) == len(levels)


@pytest.mark.parametrize("name", BACKBONES)
def test_a_smaller_backbone_is_one_of_them_and_takes_the_same_keywords(name: str):
    spec = BACKBONES[name]
    if spec.smaller is not None:
        assert BACKBONES[spec.smaller].takes == spec.takes


def test_tf1_names_are_known_for_every_backbone_that_tf1_had():
    built = [each for each in OD_API_EXTRACTORS.values() if each.nearest is None]
    had = {each.backbone for each in built if each.generation == "tf1"}
    assert {name for name in BACKBONES if BACKBONES[name].slim is not None} == had


def test_a_level_that_the_backbone_lacks_is_refused_in_words():
    spec = BACKBONES["mobilenet_v3_small"]
    with pytest.raises(HoldfastError, match="has levels 4 to 5 for the neck fpn") as caught:
        spec.endpoints("fpn", (3, 4, 5))
    assert "min_level" in caught.value.fix
    with pytest.raises(HoldfastError, match="asks for none of its own"):
        spec.endpoints("fpn", ())


def test_a_backbone_is_made_with_those_keywords_that_it_takes():
    given = {}

    def make(endpoints, *, depth_multiplier, name="backbone"):
        given.update(endpoints=endpoints, depth_multiplier=depth_multiplier)

    spec = BackboneSpec(name="one", factory=make, levels={3: "a"})
    spec.build(["a"], depth_multiplier=0.5, generation="tf2", explicit_padding=True)
    assert given == {"endpoints": ("a",), "depth_multiplier": 0.5}


@pytest.mark.usefixtures("forgotten")
def test_one_decorator_makes_a_backbone_that_configs_can_name():
    @backbone("one", levels={3: "a"}, extractors={"ssd_one": "ssd_layers", "ssd_one_fpn": "fpn"})
    def one(endpoints, *, name="backbone"):
        raise NotImplementedError

    assert BACKBONES["one"].factory is one
    assert inspect.signature(one).parameters.keys() == BACKBONES["one"].takes
    found = [extractor(name) for name in ("ssd_one", "ssd_one_fpn")]
    assert [(each.backbone, each.neck, each.head) for each in found] == [
        ("one", "ssd_layers", "convolutional"),
        ("one", "fpn", "weight_shared"),
    ]


@pytest.mark.usefixtures("forgotten")
def test_a_name_of_the_od_api_cannot_be_taken():
    with pytest.raises(ValueError, match="'ssd_mobilenet_v2' is registered twice"):
        backbone("one", levels={}, extractors={"ssd_mobilenet_v2": "fpn"})(lambda endpoints: None)
