"""Masks packed into bits are those of np.packbits, and come back whole."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from holdfast.geometry.mask_bits import pack_masks, unpack_masks

shapes = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 4), st.integers(1, 19))
masks = shapes.flatmap(lambda shape: hnp.arrays(np.uint8, shape, elements=st.integers(0, 1)))


@settings(max_examples=50, deadline=None)
@given(masks)
def test_bits_are_those_of_packbits(masks):
    np.testing.assert_array_equal(pack_masks(masks), np.packbits(masks, axis=-1))


@settings(max_examples=50, deadline=None)
@given(masks)
def test_unpacked_masks_are_those_that_were_packed(masks):
    width = masks.shape[-1]
    np.testing.assert_array_equal(unpack_masks(np.packbits(masks, axis=-1), width), masks)


def test_a_graph_packs_and_unpacks_masks_of_any_shape():
    some = np.random.default_rng(1).integers(0, 2, (2, 3, 5, 11), np.uint8)

    @tf.function(
        autograph=False, input_signature=[tf.TensorSpec([None, None, None, None], tf.uint8)]
    )
    def there_and_back(masks):
        return unpack_masks(pack_masks(masks), tf.shape(masks)[-1])

    np.testing.assert_array_equal(there_and_back(some), some)


def test_booleans_are_packed_like_numbers():
    np.testing.assert_array_equal(pack_masks([[True, False, True]]), [[0b10100000]])
