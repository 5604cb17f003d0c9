import errno
import json
import math
import os
import resource
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from holdfast.checkpoints.own.bundle import DamagedCheckpointError, UnreadableCheckpointError
from holdfast.checkpoints.own.saved_checkpoints import DamagedCheckpointWarning, restore_latest
from holdfast.checkpoints.own.store import CheckpointStore
from holdfast.errors import HoldfastError

PROJECT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "run" / "checkpoints"


def values(step):
    return {
        "model/kernel": np.arange(6, dtype=np.float32).reshape(2, 3) + step,
        "optimizer/iterations": np.int64(step),
    }


def save(store, *steps, metrics=None):
    metrics = metrics or [None] * len(steps)
    return [
        store.save(step, values(step), {"position": step}, metric)
        for step, metric in zip(steps, metrics, strict=True)
    ]


def steps_in(folder):
    names = sorted(path.name for path in folder.iterdir() if path.name != "damaged")
    return [int(name.removeprefix("step-")) for name in names]


def data_file(checkpoint):
    return checkpoint.path / "tensors.data-00000-of-00001"


def test_a_checkpoint_gives_back_what_was_saved(folder):
    saved = {
        "model/half": tf.constant([1.5, 2.5], tf.bfloat16),
        "model/variable": keras.Variable([[1.0, 2.0]]),
        "optimizer/momentum": tf.Variable(3.0),
        "average/empty": np.zeros((0, 4), np.float32),
        "state/seed": np.array([1, 2**40], np.int64),
        "state/text": tf.constant(b"\x00binary\xff"),
        "state/is_done": True,
    }
    store = CheckpointStore(folder)
    extra = {"position": {"epoch": 2, "files": ["a", "b"]}, "best_loss": math.inf}
    store.save(1000, saved, extra, metric=0.25)
    restored = CheckpointStore(folder).restore_latest()
    assert restored.checkpoint.step == 1000
    assert restored.checkpoint.extra == extra
    assert restored.checkpoint.metric == 0.25
    assert set(restored.tensors) == set(saved)
    assert restored.tensors.shapes["model/variable"] == (1, 2)
    for name, value in saved.items():
        expected = tf.convert_to_tensor(value).numpy()
        assert restored.tensors[name].dtype == np.asarray(expected).dtype, name
        np.testing.assert_array_equal(restored.tensors[name], expected, name)


def test_the_folder_is_named_after_the_step_and_describes_itself(folder):
    save(CheckpointStore(folder), 1000)
    document = json.loads((folder / "step-00001000" / "checkpoint.json").read_text())
    assert document["step"] == 1000
    assert document["extra"] == {"position": 1000}


def test_an_empty_store_has_neither_latest_nor_best(folder):
    store = CheckpointStore(folder)
    assert store.latest() is store.best() is store.restore_latest() is None


def test_a_tensor_that_is_not_there_is_a_key_error(folder):
    store = CheckpointStore(folder)
    tensors = store.restore(save(store, 1)[0]).tensors
    assert "model/bias" not in tensors
    with pytest.raises(KeyError):
        tensors["model/bias"]


@pytest.mark.parametrize("names", [["kernel"], ["model/a", "modell/b"], []])
def test_names_without_a_known_beginning_are_refused(folder, names):
    with pytest.raises(HoldfastError, match="cannot be saved"):
        CheckpointStore(folder).save(1, dict.fromkeys(names, 1.0))


# --- rotation ------------------------------------------------------------------------------------


def test_the_newest_are_kept(folder):
    save(CheckpointStore(folder, keep=2), 1, 2, 3, 10_000_000_000)
    assert steps_in(folder) == [3, 10_000_000_000]


def test_the_best_is_kept_beside_the_newest(folder):
    store = CheckpointStore(folder, keep=2)
    save(store, 1, 2, 3, 4, 5, metrics=[0.1, 0.9, 0.3, None, math.nan])
    assert steps_in(folder) == [2, 4, 5]
    assert store.best().step == 2
    assert store.latest().step == 5
    assert store.latest().metric is None


def test_where_lower_is_better_the_lowest_is_kept(folder):
    store = CheckpointStore(folder, keep=1, higher_is_better=False)
    save(store, 1, 2, 3, metrics=[0.5, 0.1, 0.9])
    assert steps_in(folder) == [2, 3]
    assert CheckpointStore(folder).best().step == 2  # the checkpoint says what is better


def test_of_equally_good_ones_the_first_is_the_best(folder):
    store = CheckpointStore(folder)
    save(store, 1, 2, metrics=[0.5, 0.5])
    assert store.best().step == 1


def test_a_checkpoint_judged_later_becomes_the_best_and_the_old_best_goes(folder):
    store = CheckpointStore(folder, keep=1)
    _, second = save(store, 1, 2, metrics=[0.5, None])
    assert steps_in(folder) == [1, 2]
    rated = store.rate(second, 0.7)
    assert rated.metric == 0.7
    assert steps_in(folder) == [2]
    assert store.best() == store.latest() == rated
    np.testing.assert_array_equal(store.restore(rated).tensors["optimizer/iterations"], 2)


def test_judging_an_old_checkpoint_removes_nothing_newer(folder):
    first, _ = save(CheckpointStore(folder), 1, 2)
    store = CheckpointStore(folder, keep=1)
    store.rate(first, 0.5)
    assert steps_in(folder) == [1, 2]


def test_judging_a_checkpoint_that_is_gone_does_not_bring_it_back(folder):
    store = CheckpointStore(folder, keep=1)
    first, _ = save(store, 1, 2)
    store.rate(first, 0.5)
    assert steps_in(folder) == [2]


def test_saving_a_step_again_replaces_it(folder):
    store = CheckpointStore(folder, keep=1)
    save(store, 1)
    store.save(1, {"model/kernel": np.float32(7)})
    assert steps_in(folder) == [1]
    assert store.restore_latest().tensors["model/kernel"] == 7


def test_later_steps_go_when_training_went_back_behind_them(folder):
    save(CheckpointStore(folder), 1, 2, 3, metrics=[0.1, 0.2, 0.9])
    store = CheckpointStore(folder, keep=1)
    save(store, 2, metrics=[0.3])
    assert steps_in(folder) == [2]


def test_none_cannot_be_kept(folder):
    with pytest.raises(HoldfastError, match="0 checkpoints"):
        CheckpointStore(folder, keep=0)


# --- damage --------------------------------------------------------------------------------------


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
@pytest.mark.parametrize("name", ["tensors.data-00000-of-00001", "tensors.index"])
def test_a_damaged_checkpoint_is_passed_over_with_a_warning(folder, name, damage):
    store = CheckpointStore(folder)
    _, latest = save(store, 1, 2)
    damage(latest.path / name)
    with pytest.raises(DamagedCheckpointError, match="cannot be read"):
        store.restore(latest)
    with pytest.warns(DamagedCheckpointWarning, match="step-00000002"):
        restored = store.restore_latest()
    assert restored.checkpoint.step == 1
    np.testing.assert_array_equal(restored.tensors["model/kernel"], values(1)["model/kernel"])


@pytest.mark.parametrize("text", ["", "{", "[]", '{"step": 2}', None])
def test_a_checkpoint_that_does_not_describe_itself_is_passed_over(folder, text):
    store = CheckpointStore(folder)
    _, latest = save(store, 1, 2)
    document = latest.path / "checkpoint.json"
    document.unlink() if text is None else document.write_text(text)
    with pytest.warns(DamagedCheckpointWarning, match="does not describe"):
        assert store.restore_latest().checkpoint.step == 1
    assert store.latest().step == 1


def test_every_damaged_checkpoint_is_named(folder):
    store = CheckpointStore(folder)
    _, *later = save(store, 1, 2, 3)
    for checkpoint in later:
        cut(data_file(checkpoint))
    with pytest.warns(DamagedCheckpointWarning) as warned:
        assert store.restore_latest().checkpoint.step == 1
    assert len(warned) == 2


def test_if_all_are_damaged_training_does_not_silently_begin_anew(folder):
    store = CheckpointStore(folder)
    cut(data_file(save(store, 1)[0]))
    for _ in range(2):  # the second try finds what the first found
        with pytest.raises(DamagedCheckpointError, match="No checkpoint in"):
            store.restore_latest()
    assert steps_in(folder) == [1]


def test_a_damaged_checkpoint_does_not_push_out_whole_ones(folder):
    _, *_, latest = save(CheckpointStore(folder), 1, 2, 3)
    cut(data_file(latest))
    store = CheckpointStore(folder, keep=2)
    with pytest.warns(DamagedCheckpointWarning):
        assert store.restore_latest().checkpoint.step == 2
    store.save(2, values(2))
    assert steps_in(folder) == [1, 2]


def test_damaged_checkpoints_are_moved_aside_and_never_deleted(folder):
    store = CheckpointStore(folder, keep=2)
    for _ in range(2):  # the same step may be damaged twice
        _, latest = save(store, 1, 2)
        cut(data_file(latest))
        with pytest.warns(DamagedCheckpointWarning, match="moved to .*damaged/step-00000002"):
            assert store.restore_latest().checkpoint.step == 1
    save(store, 3, 4)
    assert steps_in(folder) == [3, 4]
    aside = sorted(path.name for path in (folder / "damaged").iterdir())
    assert aside == ["step-00000002", "step-00000002.2"]
    assert (folder / "damaged" / aside[0] / "tensors.index").is_file()


def test_rotation_moves_a_checkpoint_aside_that_does_not_describe_itself(folder):
    store = CheckpointStore(folder, keep=1)
    (first,) = save(store, 1)
    (first.path / "checkpoint.json").write_text("{")
    save(store, 2)
    assert steps_in(folder) == [2]
    assert (folder / "damaged" / "step-00000001" / "tensors.index").is_file()


# --- what cannot be read now ---------------------------------------------------------------------

PASSING = [
    tf.errors.OpError(None, None, "a/tensors.index; Permission denied", 2),
    tf.errors.OpError(None, None, "a/tensors.index; Too many open files", 2),
    tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor"),
    tf.errors.UnavailableError(None, None, "connection lost"),
    MemoryError(),
]


@pytest.mark.parametrize("error", PASSING, ids=lambda error: str(error)[:20] or "memory")
@pytest.mark.parametrize("when", ["opened", "read"])
def test_what_may_pass_is_not_taken_for_damage(folder, monkeypatch, error, when):
    save(CheckpointStore(folder), 1, 2, 3)
    store = CheckpointStore(folder, keep=1)

    class Reader:
        def get_variable_to_shape_map(self):
            return {"model/kernel": [2, 3]}

        def get_tensor(self, name):
            raise error

    def load(prefix):
        if when == "opened":
            raise error
        return Reader()

    with monkeypatch.context() as patch:
        patch.setattr(tf.compat.v1.train, "NewCheckpointReader", load)
        with pytest.raises(UnreadableCheckpointError, match="step-00000003") as told:
            store.restore_latest()
    assert "start the same command again" in told.value.fix
    assert steps_in(folder) == [1, 2, 3]
    assert store.restore_latest().checkpoint.step == 3


def test_a_folder_that_may_not_be_listed_is_not_taken_for_an_empty_one(folder, monkeypatch):
    """TensorFlow says of it that no file matches."""
    store = CheckpointStore(folder)
    _, latest = save(store, 1, 2)

    def scandir(path):
        raise PermissionError(13, "Permission denied", str(path))

    latest.path.joinpath("tensors.index").rename(latest.path / "hidden")
    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(UnreadableCheckpointError, match="Permission denied"):
        store.restore(latest)


def test_rotation_leaves_alone_what_it_may_not_read(folder, monkeypatch):
    store = CheckpointStore(folder, keep=1)
    (first,) = save(store, 1)
    read_bytes = Path.read_bytes

    def guarded(path):
        if path.parent == first.path:
            raise PermissionError(13, "Permission denied", str(path))
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", guarded)
    save(store, 2, 3)
    assert steps_in(folder) == [1, 3]
    with pytest.raises(UnreadableCheckpointError, match=r"step-00000001.*Permission denied"):
        store.best()


# --- crashes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("large", "extra"), [(np.zeros(10_000), None), (np.zeros(1), {"text": "x" * 20_000})]
)
def test_a_full_disk_is_told_and_leaves_the_checkpoints_before(folder, large, extra):
    store = CheckpointStore(folder)
    save(store, 1)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(HoldfastError, match=r"step-00000002.*cannot be written.*too large"):
            store.save(2, {"model/large": large}, extra)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in folder.iterdir()] == ["step-00000001"]
    assert store.restore_latest().checkpoint.step == 1


def test_readers_leave_alone_what_a_writer_is_making(folder):
    save(CheckpointStore(folder), 1)
    (folder / ".saving-step-00000002").mkdir()
    assert restore_latest(folder).checkpoint.step == 1
    assert (folder / ".saving-step-00000002").exists()


def test_folders_that_are_not_ours_are_left_alone(folder):
    for name in ("step-7", "step-backup", "my-step-00000001"):
        (folder / name).mkdir(parents=True)
    store = CheckpointStore(folder, keep=1)
    save(store, 1, 2)
    names = {path.name for path in folder.iterdir()}
    assert names == {"step-7", "step-backup", "my-step-00000001", "step-00000002"}


def test_a_kill_at_any_moment_leaves_whole_checkpoints_only(tmp_path):
    script = subprocess.run(
        [sys.executable, "-m", "tests.checkpoints.killed_saves", str(tmp_path)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert script.returncode == 0, script.stderr


@pytest.fixture
def no_folder_renames(monkeypatch):
    """A mount of Cloud Storage, which renames files and no folders."""
    rename = os.rename

    def refusing(source, target):
        if os.path.isdir(source):
            raise OSError(errno.EMFILE, "too many files")
        rename(source, target)

    monkeypatch.setattr(os, "rename", refusing)


def test_where_folders_cannot_be_renamed_checkpoints_are_kept_all_the_same(
    folder, no_folder_renames
):
    store = CheckpointStore(folder, keep=2)
    save(store, 1, 2, 3)
    assert steps_in(folder) == [2, 3]
    store.save(3, values(7))
    restored = CheckpointStore(folder).restore_latest()
    assert restored.checkpoint.step == 3
    np.testing.assert_array_equal(restored.tensors["model/kernel"], values(7)["model/kernel"])
    assert steps_in(folder) == [2, 3]


def test_where_folders_cannot_be_renamed_damaged_ones_are_moved_aside(folder, no_folder_renames):
    store = CheckpointStore(folder)
    save(store, 1, 2)
    (folder / "step-00000002" / "tensors.index").write_bytes(b"")
    with pytest.warns(DamagedCheckpointWarning):
        store.restore_latest()
    assert (folder / "damaged" / "step-00000002" / "checkpoint.json").exists()
