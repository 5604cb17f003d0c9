import pytest

from holdfast.config.facts.networks import detector_of, extractor_of, network_of
from holdfast.config.schema.anchor_generator import AnchorGenerator
from holdfast.config.schema.model import DetectionModel

from ..detection_models import SSD_ANCHORS, center_net, faster_rcnn, model, ssd


def test_the_detector_is_the_member_that_is_set():
    described = ssd("ssd_mobilenet_v2")
    assert detector_of(described) is described.ssd


def test_what_is_no_detector_has_no_network():
    for described in (DetectionModel(), model("experimental_model { name: 'mine' }")):
        assert detector_of(described) is None
        assert network_of(described) is None


@pytest.mark.parametrize("name", ["ssd_mobilenet_v9", "faster_rcnn_resnet50"])
def test_an_extractor_must_be_known_and_of_the_same_architecture(name: str):
    described = ssd(name)
    assert extractor_of(detector_of(described)) is None
    assert network_of(described) is None


@pytest.mark.parametrize(
    ("described", "levels"),
    [
        (ssd("ssd_mobilenet_v2", "num_layers: 4"), (4, 5, 6, 7)),
        (ssd("ssd_spaghettinet"), (4, 5, 6, 7, 7)),
        (faster_rcnn("faster_rcnn_resnet50", "first_stage_features_stride: 8"), (3,)),
        (faster_rcnn("faster_rcnn_resnet50_fpn_keras"), (2, 3, 4, 5, 6)),
        (center_net("hourglass_104"), (2,)),
    ],
)
def test_levels_follow_the_neck(described: DetectionModel, levels: tuple[int, ...]):
    network = network_of(described)
    assert network is not None
    assert network.levels == levels


def test_a_network_without_a_generator_has_an_empty_one():
    bare = network_of(ssd("ssd_mobilenet_v2"))
    full = network_of(ssd("ssd_mobilenet_v2", rest=SSD_ANCHORS % 6))
    assert bare is not None
    assert full is not None
    assert bare.generator == AnchorGenerator()
    assert full.generator.has("ssd_anchor_generator")
