from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.input.budget import COPIES_PER_CALL, plan_buffers

SIZES = st.integers(1, 10**7)


@given(
    budget=st.integers(10**6, 10**9),
    records=st.lists(SIZES, max_size=50),
    image=SIZES,
    batch=SIZES,
    cores=st.integers(1, 64),
)
def test_the_cost_never_exceeds_the_budget_unless_one_call_and_one_record_already_do(
    budget, records, image, batch, cores
):
    buffers = plan_buffers(
        budget,
        record_bytes=records,
        largest_image_bytes=image,
        batch_bytes=batch,
        cores=cores,
    )
    worst = sorted(records, reverse=True)[: buffers.shuffle_records]
    cost = sum(worst) + buffers.parallel_calls * COPIES_PER_CALL * image + batch
    smallest = max(records, default=0) + COPIES_PER_CALL * image + batch
    assert cost <= max(budget, smallest)
    assert 1 <= buffers.parallel_calls <= cores
    assert buffers.shuffle_records >= 1


def test_a_large_budget_shuffles_everything_on_all_cores():
    buffers = plan_buffers(
        10**9, record_bytes=[10**5] * 1000, largest_image_bytes=10**6, batch_bytes=10**6, cores=4
    )
    assert (buffers.shuffle_records, buffers.parallel_calls) == (1000, 4)
