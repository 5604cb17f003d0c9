"""What a command writes to gs:// is made here and uploaded whole, or kept and said."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import HoldfastError
from holdfast.store.written_place import written_place


def fill(folder: Path) -> None:
    (folder / "records").mkdir(parents=True)
    (folder / "pipeline.config").write_text("config")
    (folder / "records" / "train").write_text("record")
    (folder / ".half").write_text("not finished")


def left_here(tmp_path: Path) -> list[str]:
    return [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_folder_is_uploaded_the_deepest_first_and_nothing_stays_here(store, tmp_path):
    with written_place(Path("gs://cells/projects/one")) as folder:
        assert folder.name == "one"
        fill(folder)
        assert store.names("cells", "projects/") == []
    assert store.names("cells", "projects/") == [
        "projects/one/pipeline.config",
        "projects/one/records/train",
    ]
    generations = {name: each.generation for name, each in store.objects["cells"].items()}
    assert max(generations, key=generations.__getitem__) == "projects/one/pipeline.config"
    assert left_here(tmp_path) == []


def test_a_file_is_uploaded_under_its_name_and_may_replace_one(store):
    for text in ("[1]", "[2]"):
        with written_place(Path("gs://cells/found.json"), replaces=True) as file:
            file.write_text(text)
    assert store.objects["cells"]["found.json"].content == b"[2]"


def test_a_place_that_holds_something_is_refused_before_any_work(store):
    store.put("cells", "one/pipeline.config", b"of somebody else")
    with (
        pytest.raises(HoldfastError, match="gs://cells/one is not empty"),
        written_place(Path("gs://cells/one")),
    ):
        raise AssertionError("not reached")


def write(place: str, then=lambda: None) -> None:
    with written_place(Path(place)) as folder:
        fill(folder)
        then()


def test_an_error_on_the_way_uploads_nothing(store, tmp_path):
    def fail():
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        write("gs://cells/one", fail)
    assert store.names("cells", "") == []
    assert left_here(tmp_path) == []


def test_what_cannot_be_uploaded_is_kept_and_said(store, tmp_path):
    def deny():
        store.fault = lambda request: 403 if request.method == "POST" else None

    with pytest.raises(HoldfastError, match=r"\(403\)") as said:
        write("gs://cells/one", deny)
    (folder,) = (tmp_path / "cache" / "written").glob("*/one")
    assert f"What was to be uploaded is in {folder}" in said.value.message
    assert f"gcloud storage cp -r {folder} gs://cells/one" in said.value.fix
    assert (folder / "records" / "train").read_text() == "record"


def test_a_path_of_this_machine_is_given_as_it_is_and_no_other_store_is_taken(tmp_path):
    with written_place(tmp_path / "here") as folder:
        assert folder == tmp_path / "here"
    with (
        pytest.raises(HoldfastError, match="s3://cells/one is remote"),
        written_place(Path("s3://cells/one")),
    ):
        raise AssertionError("not reached")
