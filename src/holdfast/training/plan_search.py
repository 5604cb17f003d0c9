"""Search for a plan in a process of its own: every way to compute a step is traced, and costs.

    python -m holdfast.training.plan_search < request.json

The training's own process is not burdened with what the search leaves behind. The request is made
by `search_apart`, and the answer is read by it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.memory.allocation import ENVIRONMENT, save_address_space
from holdfast.memory.plan import StepSettings, read_plan, read_settings
from holdfast.memory.planner import Choice


def search_apart(fitting: Any, wanted: StepSettings) -> Choice:
    """Do what `Fitting.choose` does, in another process."""
    from holdfast.config.encode import encode

    request = {
        "config": encode(fitting.config),
        "worst": asdict(fitting.worst),
        "limit": asdict(fitting.limit),
        "base_bytes": fitting.base_bytes,
        "correction": fitting.correction,
        "wanted": asdict(wanted),
    }
    run = subprocess.run(
        [sys.executable, "-m", "holdfast.training.plan_search"],
        input=json.dumps(request),
        env=os.environ | dict(ENVIRONMENT) | {"TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        last = (run.stderr.strip().splitlines() or [""])[-1]
        raise HoldfastError(
            f"The search for settings that fit ended with code {run.returncode}: {last}",
            fix="Choose them yourself: --accumulate, --rematerialize, or --plan.",
        )
    answer = json.loads(run.stdout.strip().splitlines()[-1])
    return Choice(
        plan=read_plan(answer["plan"]),
        reasons=tuple(answer["reasons"]),
        tried=tuple(read_plan(each) for each in answer["tried"]),
    )


def main() -> None:
    """Read a request from standard input, and print the choice as one line."""
    choice = _choose(json.load(sys.stdin))
    answer = {
        "plan": choice.plan.document(),
        "reasons": list(choice.reasons),
        "tried": [plan.document() for plan in choice.tried],
    }
    print(json.dumps(answer), flush=True)


def _choose(request: dict[str, Any]) -> Choice:
    save_address_space()  # before TensorFlow starts its threads
    from holdfast.config.decode import decode
    from holdfast.config.schema.pipeline import TrainEvalPipelineConfig
    from holdfast.memory.device import Limit
    from holdfast.memory.plan import BatchShape
    from holdfast.training.fitting import Fitting
    from holdfast.training.planning import StepTracer
    from holdfast.training.worst_batch import WorstBatch

    config = decode(request["config"], TrainEvalPipelineConfig).message
    worst = request["worst"]
    shape = BatchShape(**worst["shape"])
    fitting = Fitting(
        config=config,
        worst=WorstBatch(**worst | {"shape": shape, "reasons": tuple(worst["reasons"])}),
        limit=Limit(**request["limit"]),
        base_bytes=request["base_bytes"],
        correction=request["correction"],
        trace=StepTracer(config, shape),
    )
    return fitting.choose(read_settings(request["wanted"]))


if __name__ == "__main__":
    main()
