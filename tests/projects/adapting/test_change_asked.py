"""What findings ask for is set, unless it was decided already."""

from __future__ import annotations

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.projects.adapting.change_asked import AskedChange, asked_changes

CONFIG = TrainEvalPipelineConfig(train_config=TrainConfig(batch_size=8, num_steps=100))


def test_a_field_is_set_with_the_finding_as_its_reason():
    asked = [AskedChange("train_config.gradient_clipping_by_norm", "10", "optimizer-odd: …")]
    (change,) = asked_changes(CONFIG, asked, known=())
    assert (change.before, change.after) == (None, 10.0)
    assert change.why == "optimizer-odd: …"


def test_decided_fields_elements_of_lists_and_nonsense_are_left_alone():
    asked = [
        AskedChange("train_config.batch_size", "4", "decided"),
        AskedChange("eval_input_reader[0].label_map_path", "x", "an element"),
        AskedChange("train_config.no_such_field", "4", "nonsense"),
        AskedChange("train_config.num_steps", "100", "as it is"),
    ]
    assert list(asked_changes(CONFIG, asked, known=["train_config.batch_size"])) == []
