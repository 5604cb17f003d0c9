from __future__ import annotations

import pytest

from holdfast.cloud.mounts import bucket_of, buckets_in_config, config_with_mounts
from holdfast.errors import HoldfastError


@pytest.mark.parametrize("place", ["gs://", "gs:///run", "gs://Cells/run", "gs://$BUCKET/run"])
def test_a_place_without_a_proper_bucket_is_refused(place):
    with pytest.raises(HoldfastError, match="does not name a bucket"):
        bucket_of(place)


def test_only_paths_of_a_config_become_mounts():
    text = 'a: "gs://one/x" b: \'gs://two/y\'  # see gs://three\nc: "/data/gs://four"'
    assert config_with_mounts(text) == (
        'a: "/gcs/one/x" b: \'/gcs/two/y\'  # see gs://three\nc: "/data/gs://four"'
    )
    assert buckets_in_config(text) == buckets_in_config(config_with_mounts(text)) == ("one", "two")
