from __future__ import annotations

import pytest

from holdfast.errors import HoldfastError
from holdfast.memory.devices.cards import CARDS, find_card


# What TensorFlow 2 wrote at its start in public logs: "Created device … GPU:0 with N MB memory".
@pytest.mark.parametrize(
    ("name", "logged_mib"),
    [
        ("Tesla T4", 13757),
        ("Tesla P100", 15403),
        ("Tesla V100", 14648),
        ("NVIDIA A100", 38482),
        ("NVIDIA GeForce RTX 3090", 22446),
        ("NVIDIA GeForce RTX 4090", 22288),
    ],
)
def test_what_can_be_used_is_what_tensorflow_says_it_has(name, logged_mib):
    assert find_card(name).usable_bytes / 2**20 == pytest.approx(logged_mib, rel=0.015)


def test_every_name_finds_its_own_card():
    for card in CARDS:
        assert find_card(card.name) == card
        assert find_card(f"NVIDIA {card.name.lower().replace(' ', '-')}") == card


def test_an_unknown_card_is_answered_with_the_near_ones():
    with pytest.raises(HoldfastError, match="RTX 3060") as error:
        find_card("RTX 306")
    assert "RTX 3060 Ti" in str(error.value)
