"""However a step is computed, it is the same step: on one device or two, whole or in pieces."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAM = Path(__file__).parents[1] / "step_matrix.py"
DECAY = 0.9  # of batch norm, in the small configs
HALVES = ("1,1,plain,trained,still@0", "1,1,plain,trained,still@1")
QUICK = (
    "1,1,plain,frozen,drop",
    "2,2,remat,frozen,drop",
    "1,2,plain,trained,still",
    "2,1,remat,trained,still",
    *HALVES,
)
FEW = ("1,1,plain,frozen,drop", "1,2,remat,frozen,drop")  # for the families that are slow to trace
WHOLE = tuple(
    ",".join(cell)
    for cell in itertools.product(
        "12", "12", ("plain", "remat"), ("trained", "frozen"), ("drop", "still")
    )
)


@pytest.fixture(
    scope="module",
    params=[
        ("ssd", QUICK),
        pytest.param(("ssd", (*WHOLE, *HALVES)), marks=pytest.mark.slow),
        pytest.param(("bifpn", (*WHOLE, *HALVES)), marks=pytest.mark.slow),
        pytest.param(("faster_rcnn", QUICK), marks=pytest.mark.slow),
        pytest.param(("mask_rcnn", QUICK), marks=pytest.mark.slow),
        pytest.param(("center_net", QUICK), marks=pytest.mark.slow),
    ],
    ids=("quick", "ssd", "efficientdet", "faster_rcnn", "mask_rcnn", "center_net"),
)
def results(request, tmp_path_factory) -> dict[str, np.ndarray]:
    network, cells = request.param
    return computed(network, cells, tmp_path_factory.mktemp("matrix"))


def computed(network: str, cells: tuple[str, ...], folder: Path) -> dict[str, np.ndarray]:
    command = [sys.executable, PROGRAM, network, folder / "results.npz", *cells]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return dict(np.load(folder / "results.npz"))


def cells_of(results: dict[str, np.ndarray]) -> list[str]:
    return [
        cell
        for cell in dict.fromkeys(key.split(" ")[0] for key in results)
        if "," in cell and "@" not in cell
    ]


def losses_of(results: dict[str, np.ndarray], cell: str) -> dict[str, float]:
    return {
        key.removeprefix(f"{cell} "): float(value)
        for key, value in results.items()
        if key.startswith(f"{cell} ") and "statistics" not in key
    }


def parts_of(cell: str) -> int:
    """Count the parts of a batch that batch norm sees one by one, if it is trained."""
    replicas, pieces, _, norms, _ = cell.split(",")
    return int(replicas) * int(pieces) if norms == "trained" else 1


@pytest.mark.parametrize(
    "network",
    [pytest.param("faster_rcnn", marks=pytest.mark.slow), "mask_rcnn", "center_net_boxes"],
)
def test_pieces_and_rematerialization_leave_the_losses_of_each_family_alone(network, tmp_path):
    results = computed(network, FEW, tmp_path)
    one, other = (losses_of(results, cell) for cell in FEW)
    assert len(one) > 2
    assert one == pytest.approx(other, rel=1e-5)


@pytest.mark.slow
def test_a_quantized_step_sees_the_same_ranges_however_it_is_computed(tmp_path):
    cells = ("1,1,plain,frozen,drop", "2,2,remat,frozen,drop")
    results = computed("ssd@1", cells, tmp_path)
    plain, split = (losses_of(results, cell) for cell in cells)
    for name, loss in plain.items():
        # From step 1 on, the last bit of a value decides where it is rounded to.
        assert split[name] == pytest.approx(loss, rel=1e-5 if name.startswith("0") else 1e-2), name
    for step in range(2):
        one, other = (results[f"{cell} {step} statistics of ranges"] for cell in cells)
        assert np.ptp(one) > 0
        np.testing.assert_allclose(one, other, rtol=1e-4 if step == 0 else 0.05, atol=1e-4)


def test_the_losses_are_those_of_one_device_and_one_piece_wherever_batch_norm_sees_the_same(
    results,
):
    alike: dict[tuple[str, ...], list[str]] = {}
    for cell in cells_of(results):
        *_, norms, chance = cell.split(",")
        alike.setdefault((norms, chance, str(parts_of(cell))), []).append(cell)
    assert any(len(cells) > 1 for cells in alike.values())
    for first, *others in alike.values():
        expected = losses_of(results, first)
        for other in others:
            found = losses_of(results, other)
            assert found.keys() == expected.keys()
            for name, value in expected.items():
                assert found[name] == pytest.approx(value, rel=1e-5), (other, name)


def test_batch_norm_follows_each_piece_and_the_mean_of_the_replicas(results):
    halves = [results[f"{half} 0 statistics"] for half in HALVES]  # each followed half of a batch
    # What a half has seen, from statistics that moved by a tenth of the way towards it.
    start = results["start statistics"]
    seen = [(half - DECAY * start) / (1 - DECAY) for half in halves]
    in_pieces = DECAY * (DECAY * start + (1 - DECAY) * seen[0]) + (1 - DECAY) * seen[1]
    on_replicas = DECAY * start + (1 - DECAY) * (seen[0] + seen[1]) / 2
    for cell in cells_of(results):
        _, pieces, _, norms, chance = cell.split(",")
        if norms == "trained" and chance == "still" and parts_of(cell) == 2:
            expected = in_pieces if pieces == "2" else on_replicas
            found = results[f"{cell} 0 statistics"]
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
