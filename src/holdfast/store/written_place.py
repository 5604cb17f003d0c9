"""What a command writes to the store: made in a folder of this machine, then uploaded."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.files import cache_folder, refuse_remote
from holdfast.store.gs_place import GsPlace, store_url
from holdfast.store.store_client import StoreClient
from holdfast.store.store_errors import StoreError


@contextmanager
def written_place(path: Path, *, replaces: bool = False) -> Iterator[Path]:
    """Give a path of this machine to write a file or folder to.

    What lies there at the end is uploaded if `path` is in the store; an error on the way uploads
    nothing. replaces: whether files of the same names may be there already. Any other path is
    given as it is.
    """
    url = store_url(path)
    if url is None:
        refuse_remote(path, "what is written")
        yield path
        return
    place, client = GsPlace.of(url), StoreClient()
    is_there = client.objects(place) or client.find(place)  # asked first: it may be denied
    if is_there and not replaces:
        raise HoldfastError(
            f"{url} is not empty, and nothing in the store is replaced.", fix="Name a new place."
        )
    above = cache_folder() / "written"
    above.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(dir=above))
    local = home / (place.name.rpartition("/")[2] or place.bucket)
    try:
        yield local
    except BaseException:
        shutil.rmtree(home, ignore_errors=True)
        raise
    _upload(client, place, local)
    shutil.rmtree(home, ignore_errors=True)


def _upload(client: StoreClient, place: GsPlace, local: Path) -> None:
    """Upload a file or a folder: what lies deepest first, as a config stands for its records."""
    paths = [path for path in local.rglob("*") if path.is_file()] if local.is_dir() else [local]
    paths = [path for path in paths if path.exists() and not path.name.startswith(".")]
    try:
        for path in sorted(paths, key=lambda path: (-len(path.parts), path)):
            name = path.relative_to(local).as_posix()
            client.upload(place if path == local else place.below(name), path)
    except StoreError as error:
        raise HoldfastError(
            f"{error.message} What was to be uploaded is in {local}.",
            fix=f"Copy it when the store can be written to: gcloud storage cp -r {local} {place}",
        ) from None
