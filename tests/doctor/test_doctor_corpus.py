"""The doctor on configs of the wild, without their data."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import json, sys
from pathlib import Path
from holdfast.doctor.checks import storage_unreachable
from holdfast.doctor.diagnose import examine, open_case
from holdfast.errors import ConfigError

storage_unreachable.ask = lambda bucket: storage_unreachable.Answer(None, "no network")
looked, broken, errors = 0, [], []
for path in sorted(Path(sys.argv[1]).rglob("*.config")):
    try:
        case = open_case(path)
    except ConfigError:
        continue
    diagnosis = examine(case)
    looked += 1
    broken += [f"{path.name}: {each}" for each in diagnosis.not_looked_at if "Error" in each.reason]
    errors += [path.name for each in diagnosis.findings if each.severity == "error"]
loaded = sorted({"tensorflow", "keras"} & set(sys.modules))
print(json.dumps({"looked": looked, "broken": broken, "errors": errors, "loaded": loaded}))
"""


def test_no_config_of_the_wild_breaks_a_check_or_loads_tensorflow(corpus: Path, tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(corpus)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    found = json.loads(done.stdout)
    assert found["looked"] > 400
    assert found["broken"] == []
    assert found["loaded"] == []
    assert len(found["errors"]) < 0.05 * found["looked"]
