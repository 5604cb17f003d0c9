"""What clients of an export send; plain, so that the command line knows it without TensorFlow."""

from __future__ import annotations

from enum import StrEnum


class ClientInput(StrEnum):
    """What a client sends, by the names of the OD API's exporter."""

    IMAGE_TENSOR = "image_tensor"  # uint8 (B, H, W, 3)
    ENCODED = "encoded_image_string_tensor"  # (B,) the bytes of JPEG, PNG, GIF or BMP files
    EXAMPLE = "tf_example"  # (B,) records with image/encoded
