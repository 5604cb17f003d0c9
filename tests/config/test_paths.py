from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.config.paths import (
    Base,
    Found,
    Shards,
    expand,
    find_checkpoint,
    find_files,
    incomplete_shards,
    is_glob,
    is_remote,
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """The folder of the config."""
    folder = tmp_path / "there"
    folder.mkdir()
    return folder


def touch(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x")


# Where a path is looked up.


def test_the_working_directory_comes_first_as_in_the_od_api(here: Path, there: Path):
    touch(here / "a.record", there / "a.record")
    found = find_files("a.record", there)
    assert found.base == Base.WORKING_DIRECTORY
    assert found.files[0].samefile(here / "a.record")


def test_then_comes_the_folder_of_the_config(here: Path, there: Path):
    touch(there / "data" / "a.record")
    assert find_files("data/a.record", there) == Found(
        (there / "data" / "a.record",), Base.CONFIG_FOLDER
    )


def test_an_absolute_path_is_looked_up_nowhere_else(here: Path, there: Path):
    touch(here / "a.record")
    assert find_files(str(here / "a.record"), there) == Found((here / "a.record",), Base.ABSOLUTE)
    assert find_files(str(there / "a.record"), there) == Found((), Base.NOWHERE)


def test_what_is_nowhere_is_not_found(here: Path, there: Path):
    assert find_files("a.record", there) == Found((), Base.NOWHERE)
    assert find_files("*.record", there) == Found((), Base.NOWHERE)


def test_a_folder_is_found_as_itself(here: Path, there: Path):
    touch(here / "data" / "a.record")
    assert find_files("data", there).files == (Path("data"),)


def test_a_path_with_a_null_character_is_not_found(here: Path, there: Path):
    for text in ("a\0b", "a\0b/*.record", "~\0", "/a\0b/*"):
        assert find_files(text, there) == Found((), Base.NOWHERE)
        assert find_checkpoint(text, there) == Found((), Base.NOWHERE)


def test_a_name_longer_than_the_system_allows_is_not_found(here: Path, there: Path):
    assert find_files("a" * 5000, there).base == Base.NOWHERE
    assert find_checkpoint("a" * 5000, there).base == Base.NOWHERE


# Home and environment.


def test_the_home_folder_and_variables_are_expanded(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(there))
    monkeypatch.setenv("DATA", str(there / "data"))
    touch(there / "data" / "a.record")
    for text in ("~/data/a.record", "$DATA/a.record", "${DATA}/a.record", "$HOME/data/*.record"):
        assert find_files(text, here) == Found((there / "data" / "a.record",), Base.ABSOLUTE), text


def test_a_variable_that_is_not_set_stays_as_written(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("NO_SUCH", raising=False)
    assert expand("$NO_SUCH/a") == "$NO_SUCH/a"
    assert expand("a~/b") == "a~/b"


# Remote paths.


@pytest.mark.parametrize("text", ["gs://bucket/a.record", "s3://b/a-?????-of-00010", "hdfs://h/a"])
def test_a_url_is_remote_and_not_looked_up(here: Path, there: Path, text: str):
    assert is_remote(text)
    assert find_files(text, there) == Found((), Base.REMOTE)
    assert find_checkpoint(text, there) == Found((), Base.REMOTE)


@pytest.mark.parametrize("text", ["/a/b", "a/b", "C:/a/b", "C://a", r"C:\a", "gs:/a", "a//b"])
def test_a_local_path_is_not_remote(text: str):
    assert not is_remote(text)


def test_a_variable_may_hold_a_bucket(here: Path, there: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BUCKET", "gs://mine")
    assert find_files("$BUCKET/a.record", there).base == Base.REMOTE


# Globs.


def test_a_glob_gives_the_sorted_files_that_match(here: Path, there: Path):
    touch(there / "b.record", there / "a.record", there / "c.txt")
    found = find_files("*.record", there)
    assert found == Found((there / "a.record", there / "b.record"), Base.CONFIG_FOLDER)


def test_a_glob_that_matches_in_the_working_directory_stops_there(here: Path, there: Path):
    touch(here / "a.record", there / "a.record", there / "b.record")
    assert find_files("?.record", there) == Found((Path("a.record"),), Base.WORKING_DIRECTORY)


def test_characters_may_be_listed_in_brackets(here: Path, there: Path):
    touch(here / "a1", here / "a2", here / "a3")
    assert find_files("a[12]", there).files == (Path("a1"), Path("a2"))


def test_a_file_whose_name_looks_like_a_glob_is_found_by_its_name(here: Path, there: Path):
    touch(here / "a[1].record", here / "a1.record")
    assert find_files("a[1].record", there).files == (Path("a[1].record"),)


def test_brackets_in_the_folder_of_the_config_are_no_glob(here: Path, tmp_path: Path):
    folder = tmp_path / "run [1]"
    touch(folder / "a.record", tmp_path / "run 1" / "wrong.record")
    assert find_files("*.record", folder) == Found((folder / "a.record",), Base.CONFIG_FOLDER)
    assert find_files("a.record", folder) == Found((folder / "a.record",), Base.CONFIG_FOLDER)


def test_a_link_that_leads_nowhere_does_not_match(here: Path, there: Path):
    (here / "a.record").symlink_to(there / "gone")
    assert find_files("*.record", there) == Found((), Base.NOWHERE)
    assert find_files("a.record", there) == Found((), Base.NOWHERE)


@pytest.mark.parametrize("text", ["*.record", "a-?????-of-00010", "a[01]"])
def test_these_are_globs(text: str):
    assert is_glob(text)


@pytest.mark.parametrize("text", ["a.record", "a-00000-of-00010", "a]", "~/a"])
def test_these_are_not_globs(text: str):
    assert not is_glob(text)


# Checkpoints.


def test_a_checkpoint_is_found_by_its_prefix(here: Path, there: Path):
    touch(there / "ckpt-0.index", there / "ckpt-0.data-00000-of-00001")
    assert find_checkpoint("ckpt-0", there) == Found((there / "ckpt-0.index",), Base.CONFIG_FOLDER)


def test_a_checkpoint_is_looked_up_from_the_working_directory_first(here: Path, there: Path):
    touch(here / "ckpt-0.index", there / "ckpt-0.index")
    assert find_checkpoint("ckpt-0", there).base == Base.WORKING_DIRECTORY
    assert find_checkpoint(str(there / "ckpt-0"), there).base == Base.ABSOLUTE


def test_a_folder_with_checkpoints_is_one(here: Path, there: Path):
    touch(here / "start" / "ckpt-2.index", here / "start" / "ckpt-1.index", here / "start" / "x")
    assert find_checkpoint("start", there).files == (Path("start/ckpt-2.index"),)


def test_of_a_folder_the_highest_number_counts_and_not_the_order_of_names(here: Path, there: Path):
    touch(*(there / "start" / f"ckpt-{number}.index" for number in (1, 2, 10)))
    found = find_checkpoint("start/", there)
    assert found == Found((there / "start/ckpt-10.index",), Base.CONFIG_FOLDER)


def test_the_checkpoint_file_of_a_folder_decides_which_one_is_meant(here: Path, there: Path):
    touch(*(here / "start" / f"ckpt-{number}.index" for number in (1, 2, 10)))
    (here / "start" / "checkpoint").write_text('model_checkpoint_path: "ckpt-2"\n')
    assert find_checkpoint("start", there).files == (Path("start/ckpt-2.index"),)


def test_of_checkpoints_with_different_names_all_are_given(here: Path, there: Path):
    touch(here / "start" / "ckpt-1.index", here / "start" / "model.ckpt-5.index")
    found = find_checkpoint("start", there)
    assert found.files == (Path("start/ckpt-1.index"), Path("start/model.ckpt-5.index"))


def test_a_run_means_its_latest_checkpoint(here: Path, there: Path):
    for step in (500, 1500):
        touch(here / "runs/one/checkpoints" / f"step-{step:08d}" / "tensors.index")
    (here / "runs/one/checkpoints/step-00002000").mkdir()  # without a checkpoint
    latest = Path("runs/one/checkpoints/step-00001500/tensors.index")
    for text in ("runs/one", "runs/one/checkpoints"):
        assert find_checkpoint(text, there).files == (latest,)


def test_a_folder_without_checkpoints_is_none(here: Path, there: Path):
    touch(here / "start" / "readme.txt")
    assert find_checkpoint("start", there).base == Base.NOWHERE


def test_data_without_an_index_is_no_checkpoint(here: Path, there: Path):
    touch(here / "ckpt-0.data-00000-of-00001", here / "ckpt-0.meta")
    assert find_checkpoint("ckpt-0", there).base == Base.NOWHERE


def test_an_old_checkpoint_is_a_single_file(here: Path, there: Path):
    touch(here / "model.ckpt")
    assert find_checkpoint("model.ckpt", there).files == (Path("model.ckpt"),)


# Shards.


def names(count: int, total: int, before: str = "train.record-", after: str = "") -> list[Path]:
    return [Path("data") / f"{before}{i:05d}-of-{total:05d}{after}" for i in range(count)]


def test_all_shards_together_are_complete():
    assert incomplete_shards(names(10, 10)) == ()
    assert incomplete_shards([]) == ()
    assert incomplete_shards([Path("train.record"), Path("sort-of-9")]) == ()


def test_missing_shards_are_counted():
    files = names(10, 10)
    assert incomplete_shards(files[:4]) == (Shards(files[0], 4, 10),)
    assert incomplete_shards(files[4:]) == (Shards(files[4], 6, 10),)


def test_a_file_named_twice_counts_once():
    files = names(1, 2) * 2
    assert incomplete_shards(files) == (Shards(files[0], 1, 2),)


def test_other_files_do_not_count_as_shards():
    files = names(1, 2)
    assert incomplete_shards([Path("data/train.txt"), *files]) == (Shards(files[0], 1, 2),)


def test_each_data_set_is_counted_by_itself():
    short, whole = names(2, 3, "a-"), names(3, 3, "b-")
    with_ending = names(1, 3, "a-", ".tfrecord")
    assert incomplete_shards([*short, *whole, *with_ending]) == (
        Shards(short[0], 2, 3),
        Shards(with_ending[0], 1, 3),
    )
    elsewhere = [Path("other") / file.name for file in whole[:1]]
    assert incomplete_shards([*whole, *elsewhere]) == (Shards(elsewhere[0], 1, 3),)
