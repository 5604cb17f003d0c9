from __future__ import annotations

from holdfast.memory.plan import MemoryPlan, StepSettings
from holdfast.memory.what_fits import Mode, what_fits

FIXED, IMAGE = 1000, 300
MODES = (
    Mode(name="plain", precision="float32", rematerialize=()),
    Mode(name="again", precision="float32", rematerialize=("all",)),
)


def predict(settings: StepSettings, limit: int = 5000) -> MemoryPlan:
    image = IMAGE // 3 if settings.rematerialize else IMAGE
    peak = FIXED + settings.micro_batch * image
    return MemoryPlan(
        fits=peak <= limit,
        limit_bytes=limit,
        base_bytes=100,
        predicted_peak_bytes=peak,
        items={"all": peak},
        settings=settings,
    )


def test_the_largest_batch_is_the_last_one_that_fits():
    plain, again = what_fits(predict, MODES, (1.0, 4.0, 100.0), (2, 4))
    room = 5000 - 100
    for row, image in ((plain, IMAGE), (again, IMAGE // 3)):
        for ratio, batch in zip((1.0, 4.0, 100.0), row.batches, strict=True):
            assert FIXED + batch * image * ratio <= room
            assert FIXED + (batch + 1) * image * ratio > room
    assert plain.batches[-1] == 0
