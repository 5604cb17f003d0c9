"""What the TF1 half calls that which quantization-aware training observes and counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from holdfast.checkpoints.legacy.leaf_names import is_range
from holdfast.checkpoints.legacy.sought_names import Implied, Sought
from holdfast.models.detectors.interface import Detector

STEP = "fake_quantization_step"
_ENDED = "it has ranges of activations and does not say since when: it counts as quantized"


def with_ranges(
    detector: Detector, named: Mapping[str, Iterable[Sought]]
) -> dict[str, list[Sought]]:
    """Let no range be missing, and look for the step of a detector that is trained quantized.

    named: by part, as the TF1 half has it. Kernels have no range that is kept: theirs follows from
    their values.
    """
    found = {
        part: [_of_range(each) if is_range(each.variable) else each for each in sought]
        for part, sought in named.items()
    }
    if detector.clock is None:
        return found
    ranges = [each for sought in found.values() for each in sought if is_range(each.variable)]
    implied = Implied(
        by=tuple(name for each in ranges for name in each.names),
        value=detector.clock.delay,
        change=_ENDED,
    )
    step = Sought(detector.clock.step, (STEP,), implied, is_optional=True)
    return found | {"quantization": [step]}


def _of_range(sought: Sought) -> Sought:
    """Look for a range also where the scope of its network is there twice, as of MobileNet V1.

    Quantizers were named by operations, and these by the network's scope in itself.
    """
    twice = (_NETWORK.sub(r"\1\2\2", name) for name in sought.names)
    return sought._replace(names=(*sought.names, *twice), is_optional=True)


_NETWORK = re.compile(r"^(FeatureExtractor/)(\w+/)")
