from __future__ import annotations

from dataclasses import replace

from holdfast.memory.plan import MemoryPlan, StepSettings
from holdfast.memory.search.what_fits import tried_in, what_fits

FIXED, IMAGE = 1000, 300
PLAIN = StepSettings(micro_batch=6)
AGAIN = StepSettings(micro_batch=6, rematerialize=("all",))


def predict(settings: StepSettings, limit: int = 5000) -> MemoryPlan:
    image = IMAGE // 3 if settings.rematerialize else IMAGE
    peak = FIXED + settings.micro_batch * image
    return MemoryPlan(
        fits=peak <= limit,
        limit_bytes=limit,
        base_bytes=100,
        predicted_peak_bytes=peak,
        items={"weights": FIXED, "activations": peak - FIXED},
        settings=settings,
    )


def test_the_largest_batch_is_the_last_one_that_fits():
    plain, again = (what_fits(predict(each), (1.0, 4.0, 100.0)) for each in (PLAIN, AGAIN))
    room = 5000 - 100
    for row, image in ((plain, IMAGE), (again, IMAGE // 3)):
        for ratio, batch in zip((1.0, 4.0, 100.0), row.batches, strict=True):
            assert FIXED + batch * image * ratio <= room
            assert FIXED + (batch + 1) * image * ratio > room
    assert plain.batches[-1] == 0


def test_what_a_search_has_tried_is_not_predicted_again():
    plain = predict(StepSettings(micro_batch=8))
    some = predict(StepSettings(micro_batch=8, rematerialize=("a",)))
    every = predict(StepSettings(micro_batch=8, rematerialize=("a", "b")))
    pieces = predict(StepSettings(micro_batch=4, accumulation=2, rematerialize=("a", "b")))
    tried = (plain, pieces, every, some)
    assert [tried_in(each, tried) for each in (PLAIN, AGAIN)] == [plain, every]
    assert tried_in(replace(PLAIN, precision="mixed_float16"), tried) is None
