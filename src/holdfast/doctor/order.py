"""Which of several findings to read first: the severe ones, and among them causes."""

from __future__ import annotations

from holdfast.doctor.finding import SEVERITIES, Finding

# Of equal severity, what explains a failed training most directly comes first. What is wrong with
# labels and weights explains all the rest; then what the optimizer does; then what the network can
# see of the boxes; then what a run shows of it, from causes (not finite, exploding) to
# consequences (collapse, nothing detected); last what costs time or memory only.
ORDER: tuple[str, ...] = (
    *("cluster-wrong", "storage-unreachable", "gpu-unseen", "gpu-shared"),
    *("memory-short", "host-memory-short", "disk-short"),
    *("nothing-trains", "classes-mismatch", "label-shift", "label-outside-map", "class-never-seen"),
    *("boxes-left-out", "boxes-suspicious", "label-noise", "odd-pixels", "unlabelled-images"),
    "weights-partial",
    *("learning-rate-high", "learning-rate-low", "schedule-ends-early", "warmup-too-long"),
    "steps-few",
    *("schedule-never-decays", "optimizer-odd", "loss-odd", "penalty-strong"),
    "background-prior",
    *("detections-hidden", "anchors-miss-boxes", "boxes-too-small", "augmentation-destroys-boxes"),
    *("class-imbalance", "few-examples", "resolution-changed", "anchors-unused"),
    *("batch-norm-small-batch", "batch-norm-slow", "dropout-strong", "batch-small", "batch-large"),
    "weights-missing",  # a choice more often than a mistake
    *("split-leak", "duplicate-images", "distribution-shift"),
    *("loss-not-finite", "loss-diverged", "gradients-explode", "gradients-vanish"),
    *("dead-activations", "batch-norm-drift", "background-collapse", "localization-stuck"),
    *("plateau", "learning-too-slow", "overfitting", "class-starved", "detections-zero"),
    *("recovered-often", "memory-grows", "input-bound", "augmentation-slow", "slow-steps"),
    *("retracing", "checkpoints-rare"),
)
_PLACE = {code: place for place, code in enumerate(ORDER)}


def urgency(finding: Finding) -> tuple[int, int]:
    """Give what to sort findings by; codes of users' own follow Holdfast's of equal severity."""
    return SEVERITIES.index(finding.severity), _PLACE.get(finding.code, len(ORDER))
