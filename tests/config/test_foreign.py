from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.config.check_config import check_config
from holdfast.config.foreign import foreign_problem, is_record_start

from .texts import CONFIG, LABEL_MAP

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def _masked(crc: int) -> int:
    rotated = (crc >> 15) | (crc << 17) & 0xFFFFFFFF
    return (rotated + 0xA282EAD8) & 0xFFFFFFFF


def _divided(content: bytes) -> int:
    """Divide by the Castagnoli polynomial as on paper, the bits of each byte turned around."""
    bits = "".join(f"{byte:08b}"[::-1] for byte in content) + "0" * 32
    value = int(bits, 2) ^ (0xFFFFFFFF << (len(bits) - 32))
    for position in range(len(bits) - 1, 31, -1):
        if value >> position & 1:
            value ^= 0x11EDC6F41 << (position - 32)
    return int(f"{value ^ 0xFFFFFFFF:032b}"[::-1], 2)


RECORD = struct.pack("<QI", 3, _masked(_divided(struct.pack("<Q", 3)))) + b"abc" + bytes(4)


@pytest.mark.parametrize(
    ("name", "content", "what", "fix"),
    [
        ("train.record", RECORD, "a TFRecord file", "holdfast inspect"),
        ("renamed.config", RECORD, "a TFRecord file", "holdfast inspect"),
        ("cat.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF", "an image", "holdfast convert"),
        ("cat.config", PNG, "an image", "holdfast convert"),
        ("map.pbtxt", LABEL_MAP.encode(), "a label map", "label_map_path"),
        ("map.txt", b"# classes\n\nitem: {\n id: 1 }", "a label map", "label_map_path"),
        ("ckpt-0.index", bytes(range(256)), "part of a checkpoint", "holdfast evaluate"),
        ("ckpt-0.data-00000-of-00001", bytes(99), "part of a checkpoint", "holdfast evaluate"),
        ("checkpoint", b'model_checkpoint_path: "ckpt-0"\n', "part of a checkpoint", "evaluate"),
        ("model.tflite", b"\x1c\0\0\0TFL3" + bytes(9), "an exported model", "config"),
        ("a.xml", b"<annotation><folder>x</folder>", "an annotation file", "inspect"),
        ("a.json", b'{"images": [', "an annotation file", "inspect"),
        ("a.csv", b"filename,width,height,class\n1.jpg,2,3,cat\n", "an annotation file", "inspect"),
        ("zoo.tar.gz", b"\x1f\x8b\x08" + bytes(20), "a compressed archive", "unpack"),
    ],
)
def test_a_file_of_another_kind_is_named_and_what_to_do_with_it(
    tmp_path: Path, name: str, content: bytes, what: str, fix: str
):
    path = tmp_path / name
    path.write_bytes(content)
    report = check_config(path)
    assert report.config is None
    (error,) = report.errors
    assert error.message == f"it is {what}, not a config"
    assert fix in error.fix


def test_a_config_with_mistakes_is_still_a_config(tmp_path: Path):
    path = tmp_path / "pipeline.config"
    path.write_text(CONFIG.replace("num_classes", "num_clases"))
    assert foreign_problem(path) is None
    assert [each.path for each in check_config(path).errors] == ["model.ssd.num_clases"]


def test_any_name_does_for_a_config(tmp_path: Path):
    path = tmp_path / "pipeline.json"
    path.write_text(CONFIG)
    assert check_config(path).config is not None


def test_a_folder_without_a_config_is_pointed_at_inspect(tmp_path: Path):
    (error,) = check_config(tmp_path).errors
    assert error.message == "it is a folder"
    assert f"`holdfast inspect {tmp_path}`" in error.fix


@given(st.integers(0, 2**40), st.binary(min_size=4, max_size=4))
def test_only_the_right_checksum_makes_a_record(length: int, checksum: bytes):
    """Compared with TensorFlow's own CRC, computed bit by bit from the polynomial."""
    head = struct.pack("<Q", length)
    expected = struct.pack("<I", _masked(_divided(head)))
    assert is_record_start(head + expected)
    assert is_record_start(head + checksum) == (checksum == expected)


def test_the_records_of_users_are_known_by_their_first_bytes(corpus: Path):
    files = sorted(corpus.glob("records/*.tfrecord"))
    assert len(files) > 15
    assert all(is_record_start(file.read_bytes()[:12]) for file in files)
