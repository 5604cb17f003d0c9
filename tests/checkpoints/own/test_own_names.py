"""Names in own checkpoints: every variable is under its part, in detectors of all families."""

from __future__ import annotations

import pytest
from tests.training.step_matrix import config_of

from holdfast.checkpoints.own.own_names import inner_path, own_names
from holdfast.models.detectors.build_detector import build_detector


@pytest.mark.parametrize("family", ["ssd", "mask_rcnn", "center_net"])
def test_a_variable_is_named_after_its_part_and_no_name_stands_for_two(family):
    detector = build_detector(config_of(family))
    for part, layer in detector.parts().items():
        paths = [inner_path(detector, each.path) for each in layer.weights]
        assert paths
        assert all(path.startswith(f"{part}/") for path in paths)
        # A training names what it saves by the same rule.
        assert all(each.path.startswith(f"{detector.name}/") for each in layer.weights)
    names = [name for each in own_names(detector, "full") for name in each.names]
    assert len(set(names)) == len(names) == len(detector.variables)
