import pytest
import tensorflow as tf

from holdfast.checkpoints.find_checkpoint import find_prefix, named_checkpoint
from holdfast.errors import HoldfastError
from holdfast.store.store_errors import StoreError

from .bundles import write_zeros


@pytest.fixture
def numbered(tmp_path):
    for number in (2, 10, 9):
        write_zeros(tmp_path / f"model.ckpt-{number}", {"weights": [1]})
    return tmp_path


@pytest.mark.parametrize("suffix", ["", ".index", ".meta", ".data-00000-of-00001"])
def test_a_checkpoint_is_found_by_its_prefix_and_by_each_of_its_files(numbered, suffix):
    assert find_prefix(f"{numbered}/model.ckpt-2{suffix}") == f"{numbered}/model.ckpt-2"


def test_the_latest_of_a_folder_has_the_highest_number(numbered):
    assert find_prefix(f"{numbered}/") == f"{numbered}/model.ckpt-10"


def test_the_state_file_decides_which_is_the_latest(numbered):
    (numbered / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-9"\n')
    assert find_prefix(str(numbered)) == f"{numbered}/model.ckpt-9"


@pytest.mark.parametrize("place", ["/home/ann/training", r"C:\\models"])
def test_a_state_file_from_another_machine_means_the_file_in_this_folder(numbered, place):
    separator = "/" if "/" in place else r"\\"
    text = f'model_checkpoint_path: "{place}{separator}model.ckpt-9"\n'
    (numbered / "checkpoint").write_text(text)
    assert find_prefix(str(numbered)) == f"{numbered}/model.ckpt-9"


def test_a_state_file_that_names_a_deleted_checkpoint_is_passed_over(numbered):
    (numbered / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-11"\n')
    assert find_prefix(str(numbered)) == f"{numbered}/model.ckpt-10"


def test_the_folder_of_a_zoo_archive_means_the_checkpoint_in_it(tmp_path):
    write_zeros(tmp_path / "archive" / "checkpoint" / "ckpt-0", {"weights": [1]})
    assert find_prefix(f"{tmp_path}/archive") == f"{tmp_path}/archive/checkpoint/ckpt-0"


def test_several_checkpoints_in_a_folder_are_not_chosen_from(numbered):
    write_zeros(numbered / "ckpt-3", {"weights": [1]})
    with pytest.raises(HoldfastError, match="several checkpoints") as error:
        find_prefix(str(numbered))
    assert "ckpt-3" in error.value.message
    assert "prefix" in error.value.fix


def test_a_folder_without_a_checkpoint_is_an_error(tmp_path):
    with pytest.raises(HoldfastError, match="holds no checkpoint"):
        find_prefix(str(tmp_path))


def test_a_misspelled_prefix_names_the_nearest(numbered):
    with pytest.raises(HoldfastError, match="There is no checkpoint") as error:
        find_prefix(f"{numbered}/model.ckpt-90")
    assert f"{numbered}/model.ckpt-9" in error.value.fix


def test_a_prefix_in_a_folder_that_does_not_exist_says_what_to_give(tmp_path):
    with pytest.raises(HoldfastError, match="There is no checkpoint") as error:
        find_prefix(f"{tmp_path}/nowhere/ckpt-0")
    assert "up to .index" in error.value.fix


# --- what a config names -------------------------------------------------------------------------


def save_remote(prefix):
    tf.raw_ops.SaveV2(
        prefix=prefix, tensor_names=["weights"], shape_and_slices=[""], tensors=[tf.zeros([1])]
    )


@pytest.fixture
def remote(request):
    """A folder behind a URL, in TensorFlow's file system of the memory."""
    folder = f"ram://{request.node.name}/start"
    for number in (2, 10, 9):
        save_remote(f"{folder}/model.ckpt-{number}")
    return folder


def test_a_config_names_a_checkpoint_from_its_own_folder(numbered):
    assert named_checkpoint("model.ckpt-9", numbered) == f"{numbered}/model.ckpt-9"


def test_a_folder_that_a_config_names_means_its_latest(numbered, tmp_path):
    assert named_checkpoint(str(numbered), tmp_path) == f"{numbered}/model.ckpt-10"
    (numbered / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-2"\n')
    assert named_checkpoint(str(numbered), tmp_path) == f"{numbered}/model.ckpt-2"


def test_a_remote_checkpoint_is_found_by_prefix_and_by_folder(remote, tmp_path):
    assert named_checkpoint(f"{remote}/model.ckpt-9", tmp_path) == f"{remote}/model.ckpt-9"
    assert named_checkpoint(remote, tmp_path) == f"{remote}/model.ckpt-10"
    with tf.io.gfile.GFile(f"{remote}/checkpoint", "w") as stream:
        stream.write('model_checkpoint_path: "model.ckpt-2"\n')
    assert named_checkpoint(remote, tmp_path) == f"{remote}/model.ckpt-2"


def test_a_remote_checkpoint_that_is_not_there_names_the_nearest(remote, tmp_path):
    with pytest.raises(HoldfastError, match="There is no checkpoint ram://") as error:
        named_checkpoint(f"{remote}/model.ckpt-99", tmp_path)
    assert f"{remote}/model.ckpt-9" in error.value.fix


def test_a_variable_in_a_config_may_hold_the_bucket(remote, tmp_path, monkeypatch):
    monkeypatch.setenv("BUCKET", remote)
    assert named_checkpoint("$BUCKET/model.ckpt-2", tmp_path) == f"{remote}/model.ckpt-2"


def test_what_a_config_names_and_is_nowhere_is_an_error(tmp_path):
    with pytest.raises(HoldfastError, match="There is no checkpoint start") as error:
        named_checkpoint("start", tmp_path)
    assert "fine_tune_checkpoint" in error.value.fix


def test_a_folder_of_several_that_a_config_names_is_an_error(numbered, tmp_path):
    write_zeros(numbered / "ckpt-3", {"weights": [1]})
    with pytest.raises(HoldfastError, match="several checkpoints"):
        named_checkpoint(str(numbered), tmp_path)


def test_of_a_run_in_the_store_the_newest_whole_checkpoint_is_found(store):
    for name in (
        *("manifest.json", "checkpoints/step-00000002/checkpoint.json"),
        *("checkpoints/step-00000002/tensors.index", "checkpoints/step-00000004/tensors.index"),
    ):
        store.put("cells", f"found/run/{name}", b"{}")
    prefix = "gs://cells/found/run/checkpoints/step-00000002/tensors"
    assert find_prefix("gs://cells/found/run/") == prefix
    assert find_prefix("gs://cells/found/run/checkpoints/step-00000002") == prefix


def test_a_store_that_denies_is_not_taken_for_one_without_the_checkpoint(store):
    store.fault = lambda request: 403
    with pytest.raises(StoreError, match="403"):
        find_prefix("gs://cells/denied/ckpt-0")
