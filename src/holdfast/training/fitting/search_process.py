"""Search for a plan in a process of its own: every way to compute a step is traced, and costs.

    python -m holdfast.training.fitting.search_process < request.json

The training's own process is not burdened with what the search leaves behind. The request is made
by `search_apart`, and the answer is read by it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.memory.devices.allocation import ENVIRONMENT, save_address_space
from holdfast.memory.plan import MemoryPlan, StepSettings, read_plan, read_settings
from holdfast.memory.search.planner import StepChoice
from holdfast.memory.search.suggestion import read_suggestion


def search_apart(fitting: Any, wanted: StepSettings) -> StepChoice:
    """Do what `Fitting.choose` does, in another process."""
    with _Helper(fitting, {"wanted": asdict(wanted)}) as helper:
        answer = helper.answer()
    return StepChoice(
        plan=read_plan(answer["plan"]),
        reasons=tuple(answer["reasons"]),
        tried=tuple(read_plan(each) for each in answer["tried"]),
        suggestions=tuple(read_suggestion(each) for each in answer["suggestions"]),
    )


@contextmanager
def plans_apart(
    fitting: Any, wanted: Sequence[StepSettings]
) -> Iterator[Callable[[], list[MemoryPlan]]]:
    """Predict steps in another process while this one goes on; call what is given for the plans.

    Evaluations are not counted. Without settings there is nothing to start.
    """
    if not wanted:
        yield list
        return
    step_alone = replace(fitting, worst=replace(fitting.worst, evaluation=None))
    with _Helper(step_alone, {"plans": [asdict(each) for each in wanted]}) as helper:
        yield lambda: [read_plan(each) for each in helper.answer()["plans"]]


class _Helper:
    """Another process that works on a request; it is ended if nobody waits for it any more."""

    def __init__(self, fitting: Any, request: dict[str, Any]) -> None:
        from holdfast.config.text.encode import encode

        self._request = request | {
            "config": encode(fitting.config),
            "use": [str(each) for each in fitting.config.parts],
            "worst": asdict(fitting.worst),
            "limit": asdict(fitting.limit),
            "base_bytes": fitting.base_bytes,
            "correction": fitting.correction,
            "teacher": fitting.teacher,
            "folder": fitting.config.folder,
        }

    def __enter__(self) -> _Helper:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "holdfast.training.fitting.search_process"],
            env=os.environ | dict(ENVIRONMENT) | {"TF_CPP_MIN_LOG_LEVEL": "3"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(self._request))
        self._process.stdin.close()
        self._process.stdin = None  # it begins now, and not when the answer is asked for
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()

    def answer(self) -> dict[str, Any]:
        output, errors = self._process.communicate()
        if self._process.returncode:
            last = (errors.strip().splitlines() or [""])[-1]
            raise HoldfastError(
                f"The search for settings that fit ended with code {self._process.returncode}: "
                f"{last}",
                fix="Choose them yourself: --accumulate, --rematerialize, or --plan.",
            )
        answer: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
        return answer


def main() -> None:
    """Read a request from standard input, and print the answer as one line."""
    save_address_space()  # before TensorFlow starts its threads
    print(json.dumps(_answer(json.load(sys.stdin))), flush=True)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    fitting = _fitting(request)
    if "plans" in request:
        plans = fitting.plans([read_settings(each) for each in request["plans"]])
        return {"plans": [plan.document() for plan in plans]}
    choice = fitting.choose(read_settings(request["wanted"]))
    return {
        "plan": choice.plan.document(),
        "reasons": list(choice.reasons),
        "tried": [plan.document() for plan in choice.tried],
        "suggestions": [each.document() for each in choice.suggestions],
    }


def _fitting(request: dict[str, Any]) -> Any:
    from holdfast.config.part_choices import parse_choice
    from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
    from holdfast.config.text.decode import decode
    from holdfast.memory.devices.device import Limit
    from holdfast.training.fitting.choice import Fitting
    from holdfast.training.fitting.tracing import StepTracer
    from holdfast.training.fitting.worst_batch import read_worst

    config = decode(request["config"], TrainEvalPipelineConfig).message
    config = config.replace(
        parts=tuple(parse_choice(each) for each in request["use"]), folder=request["folder"]
    )
    worst = read_worst(request["worst"])
    return Fitting(
        config=config,
        worst=worst,
        limit=Limit(**request["limit"]),
        base_bytes=request["base_bytes"],
        correction=request["correction"],
        teacher=request["teacher"],
        tracer=StepTracer(config, worst, request["teacher"]),
    )


if __name__ == "__main__":
    main()
