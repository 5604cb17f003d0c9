"""How much memory the instant commands need, and how reading grows with the file."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table
from sample_config import CONFIG

COPIES = (1, 100, 1000)
# getrusage would count what the parent held before the process was started.
BARE = """
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""
READ = f"""
import sys
from holdfast.config.text.decode import decode
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
decode(open(sys.argv[1]).read(), TrainEvalPipelineConfig)
{BARE}
"""


def main() -> None:
    bare = peak_kibibytes(BARE)
    table = Table("process", "peak MiB", "above a bare Python", title="Peak memory")
    table.add_row("python -c pass", f"{bare / 1024:.1f}", "")
    with tempfile.TemporaryDirectory() as folder:
        for copies in COPIES:
            path = Path(folder) / "pipeline.config"
            path.write_text(CONFIG * copies)
            peak = peak_kibibytes(READ, str(path))
            name = f"read a config of {path.stat().st_size / 1024:.0f} KiB"
            table.add_row(name, f"{peak / 1024:.1f}", f"{(peak - bare) / 1024:.1f}")
    Console().print(table)


def peak_kibibytes(program: str, *arguments: str) -> int:
    run = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    )
    return int(run.stdout)


if __name__ == "__main__":
    main()
