import pytest

from holdfast.checkpoints.find import find_prefix
from holdfast.errors import HoldfastError

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
