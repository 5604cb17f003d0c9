import pytest

from holdfast.errors import HoldfastError
from holdfast.store.fetched import copy_folder, fetch_file, fetch_folder
from holdfast.store.gs_place import GsPlace
from holdfast.store.store_client import StoreClient

PLACE = GsPlace("cells", "images")


def reads(store):
    return [each.path for each in store.requests if each.path.startswith("/download")]


def test_only_what_changed_is_fetched_again(store):
    store.put("cells", "images/a.jpg", b"a")
    store.put("cells", "images/deep/b.jpg", b"b")
    client = StoreClient()
    copy = fetch_folder(client, PLACE, client.objects(PLACE))
    assert (copy / "deep" / "b.jpg").read_bytes() == b"b"
    store.put("cells", "images/a.jpg", b"new")
    del store.objects["cells"]["images/deep/b.jpg"]
    before = len(reads(store))
    assert fetch_folder(client, PLACE, client.objects(PLACE)) == copy
    assert (copy / "a.jpg").read_bytes() == b"new"
    assert not (copy / "deep" / "b.jpg").exists()
    assert len(reads(store)) == before + 1


def test_one_file_keeps_its_name(store):
    store.put("cells", "images/a.jpg", b"a")
    client = StoreClient()
    place = PLACE.below("a.jpg")
    found = client.find(place)
    assert found is not None
    path = fetch_file(client, place, found)
    assert (path.name, path.read_bytes()) == ("a.jpg", b"a")


def test_names_that_lead_out_of_the_copy_are_refused(store, tmp_path):
    store.put("cells", "images/../../escaped", b"x")
    client = StoreClient()
    with pytest.raises(HoldfastError, match="no file can have such a name"):
        fetch_folder(client, PLACE, client.objects(PLACE))
    assert not (tmp_path / "escaped").exists()


def test_two_places_of_one_name_have_two_copies():
    assert copy_folder(GsPlace("a", "run"), "runs") != copy_folder(GsPlace("b", "run"), "runs")
