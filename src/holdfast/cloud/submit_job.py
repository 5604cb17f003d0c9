"""Start a written job: run the command that its files came with, and say what came of it."""

from __future__ import annotations

import shlex
import shutil
import subprocess

from holdfast.errors import HoldfastError

_PACKAGES = {
    "gcloud": "Install Google Cloud's command line, and log in with `gcloud auth login`.",
    "kubectl": "Install kubectl, and let it know the cluster.",
    "sbatch": "Submit it on a machine of the cluster: there is no Slurm here.",
}


def submit_job(command: str) -> int:
    """Run a command in the terminal of this process; give its exit code.

    HoldfastError if its program is not installed: the files are written, and can be used elsewhere.
    """
    words = shlex.split(command)
    if shutil.which(words[0]) is None:
        fix = _PACKAGES.get(words[0], "Install it.")
        raise HoldfastError(f"{words[0]} is not installed here, so nothing was started.", fix=fix)
    return subprocess.run(words, check=False).returncode
