import subprocess
import sys

from holdfast.store.tensorflow_reading import block_bytes, bound_reading


def test_what_the_user_has_set_stays(monkeypatch):
    monkeypatch.setenv("GCS_READ_CACHE_BLOCK_SIZE_MB", "16")
    monkeypatch.delenv("GCS_RETRY_CONFIG_MAX_RETRIES", raising=False)
    bound_reading()
    assert block_bytes() == 16 << 20


def test_an_open_file_holds_8_mib():
    environment = {"PATH": "/usr/bin"}
    program = "import holdfast, os; print(os.environ['GCS_READ_CACHE_BLOCK_SIZE_MB'])"
    paths = f"import sys; sys.path[:] = {sys.path!r}; "
    shown = subprocess.run(
        [sys.executable, "-c", paths + program], env=environment, capture_output=True, text=True
    )
    assert shown.stdout.strip() == "8"
