"""What the doctor finds in an adapted config, and what of it is set at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.projects.adapting.change_asked import AskedChange

if TYPE_CHECKING:
    from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig

# What follows from the data and the length of the training, and has one remedy. Others are for the
# user to decide: `holdfast doctor` says them.
_CODES = (
    "background-prior",
    "batch-norm-slow",
    "optimizer-odd",
    "schedule-ends-early",
    "warmup-too-long",
)
_IMBALANCE = "class-imbalance"


def asked_by_findings(config: TrainEvalPipelineConfig) -> Iterator[AskedChange]:
    """Give what warnings and errors about a config would set."""
    from holdfast.doctor.diagnose import diagnose

    for finding in diagnose(config, only=_CODES):
        if finding.severity != "note":
            for path, value in finding.fix.set.items():
                yield AskedChange(path, value, f"{finding.code}: {finding.what}")


def needs_class_weights(config: TrainEvalPipelineConfig) -> bool:
    """Tell whether some classes are so rare that the training has to weigh them."""
    from holdfast.doctor.diagnose import diagnose

    found = diagnose(config, only=[_IMBALANCE])
    return any(each.severity != "note" and each.fix.command for each in found)
