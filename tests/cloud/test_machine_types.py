from __future__ import annotations

import pytest

from holdfast.cloud.machine_types import MACHINES, find_machine
from holdfast.errors import HoldfastError


def test_machines_have_the_cards_and_memory_of_the_catalog():
    rows = {
        name: (machine.card.name, machine.num_cards, machine.host_gb)
        for name in ("g2-standard-4", "g2-standard-96", "a2-ultragpu-2g", "g4-standard-384")
        if (machine := find_machine(name)).card
    }
    assert rows == {
        "g2-standard-4": ("L4", 1, 16),
        "g2-standard-96": ("L4", 8, 384),
        "a2-ultragpu-2g": ("A100 80GB", 2, 340),
        "g4-standard-384": ("RTX Pro 6000", 8, 1440),
    }


@pytest.mark.parametrize("machine", MACHINES.values(), ids=lambda machine: machine.name)
def test_less_than_the_nominal_memory_of_a_card_is_usable(machine):
    for card in [machine.card] if machine.card else [find_machine(machine.name, "T4").card]:
        assert 0.8 * card.memory_mib < card.usable_bytes / 2**20 < card.memory_mib


def test_tensorflow_has_code_for_cards_from_pascal_to_hopper():
    old = find_machine("n1-standard-4", "K80").card
    good = [find_machine("n1-standard-4", name).card for name in ("P100", "V100", "T4")]
    good += [find_machine(name).card for name in ("g2-standard-4", "a2-highgpu-1g")]
    new = [find_machine(name).card for name in ("a4-highgpu-8g", "g4-standard-48")]
    assert old.is_too_old
    assert not any(card.is_too_old or card.is_newer_than_tensorflow for card in good)
    assert all(card.is_newer_than_tensorflow and not card.is_too_old for card in new)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("g2-standard-9",), "No machine type is known as g2-standard-9"),
        (("n1-standard-8",), "has no card of its own"),
        (("n1-standard-8", "L4"), "does not take a L4"),
        (("n1-standard-8", "T4", 8), "does not take 8 T4"),
        (("n1-standard-8", "V100", 3), "does not take 3 V100"),
        (("g2-standard-8", "T4"), "comes with its cards: 1 L4"),
        (("ct5lp-hightpu-4t",), "is a TPU"),
        (("v3-8",), "is a TPU"),
    ],
)
def test_a_machine_that_does_not_exist_is_refused_with_one_that_does(arguments, message):
    with pytest.raises(HoldfastError, match=message) as caught:
        find_machine(*arguments)
    assert caught.value.fix
