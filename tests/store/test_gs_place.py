from pathlib import Path

import pytest

from holdfast.errors import HoldfastError
from holdfast.store.gs_place import GsPlace, store_url


def test_a_place_is_a_bucket_and_a_name():
    place = GsPlace.of("gs://cells/runs/one")
    assert place == GsPlace("cells", "runs/one")
    assert str(place.below("manifest.json")) == "gs://cells/runs/one/manifest.json"
    assert str(GsPlace.of("gs://cells").below("a")) == "gs://cells/a"


@pytest.mark.parametrize("url", ["gs://", "gs:///runs", "gs://Cells/runs", "gs://a/b"])
def test_what_names_no_bucket_is_refused(url):
    with pytest.raises(HoldfastError, match="names no bucket"):
        GsPlace.of(url)


def test_a_url_is_known_after_pathlib_took_a_slash(monkeypatch):
    monkeypatch.setenv("BUCKET", "gs://cells")
    assert store_url(Path("gs://cells/runs/one")) == "gs://cells/runs/one"
    assert store_url("$BUCKET/runs") == "gs://cells/runs"
    assert store_url(Path("$BUCKET/runs")) == "gs://cells/runs"


@pytest.mark.parametrize("path", ["runs/one", "/gcs/cells/one", "s3://cells/one", "gs", "~/gs:/a"])
def test_other_paths_are_not_of_the_store(path):
    assert store_url(path) is None
