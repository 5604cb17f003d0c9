"""The whole search with pretended trainings: skipped, failed, pruned, killed, shared."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.errors import ConfigError, HoldfastError
from holdfast.tuning.search_loop import SearchReporter, SearchRequest, open_study, search
from holdfast.tuning.search_space import parse_space
from holdfast.tuning.search_study import JOURNAL_NAME, TrialState
from holdfast.tuning.trial_settings import curve_of

from .pretended_holdfast import BEST_RATE, METRIC

RATE = "learning-rate=log:1e-4..1"


def request(config: Path, *over: str, **changes) -> SearchRequest:
    draft = SearchRequest(
        config=config,
        overrides={},
        space=(),
        out=Path("search"),
        trials=6,
        metric=METRIC,
        steps=9,
        evaluate_every=1,
    )
    space = parse_space(over, curve_of(draft.base(), 9))
    return SearchRequest(**(vars(draft) | {"space": space} | changes))


@pytest.fixture(autouse=True)
def legal(monkeypatch):
    """Records are empty here, which is no concern of these tests."""
    from holdfast.tuning import search_loop

    whole = search_loop.check_config

    def check(*arguments, **options):
        report = whole(*arguments, **options)
        errors = tuple(each for each in report.errors if "record" not in each.message)
        return type(report)(**(vars(report) | {"errors": errors}))

    monkeypatch.setattr(search_loop, "check_config", check)


def test_each_trial_is_a_run_and_the_best_is_near_the_best_rate(config, pretended):
    asked = request(config, RATE, trials=12)
    study = open_study(asked)
    search(asked, study, SearchReporter())
    records = study.records()
    assert len(records) == 12
    assert {each.state for each in records} <= {"complete", "pruned", "failed"}
    assert all(asked.run(each.number).is_dir() for each in records if each.metric is not None)
    assert BEST_RATE / 3 < study.best().settings["learning-rate"] < BEST_RATE * 3


def test_a_trial_that_cannot_fit_is_skipped_with_the_reason(config, pretended):
    asked = request(config, "train_config.batch_size=4,64", RATE, trials=8)
    study = open_study(asked)
    search(asked, study, SearchReporter())
    large = [each for each in study.records() if each.settings["train_config.batch_size"] == "64"]
    assert large
    for each in large:
        assert each.state == TrialState.SKIPPED
        assert each.reason.startswith("It needs 8 GiB of memory")
        assert "there are 1 GiB" in each.reason
        assert not asked.run(each.number).exists()
    assert study.best() is not None
    plans = list((asked.out / "plans").iterdir())
    assert len(plans) == 2  # whatever their rates


def test_a_trial_that_fails_is_passed_over_with_what_it_said(config, pretended):
    asked = request(config, "learning-rate=0.01,0.9", trials=6)
    study = open_study(asked)
    search(asked, study, SearchReporter())
    failed = [each for each in study.records() if each.settings["learning-rate"] == "0.9"]
    assert {each.state for each in failed} == {TrialState.FAILED}
    assert {each.reason for each in failed} == {"The loss is not a finite number."}
    assert study.best().settings["learning-rate"] == "0.01"


def test_an_unknown_metric_ends_the_search_with_the_known_ones(config, pretended):
    asked = request(config, RATE, metric="mAP")
    with pytest.raises(HoldfastError) as caught:
        search(asked, open_study(asked), SearchReporter())
    assert METRIC in caught.value.fix


@pytest.mark.parametrize(
    ("over", "what"),
    [
        ("train_config.batch_sice=1,2", "there is no field `batch_sice`"),
        ("train_config.batch_size=1,two", "train_config.batch_size"),
        ("model.ssd.num_classes=1.5,2", "num_classes"),
    ],
)
def test_a_wrong_field_or_value_is_found_before_anything_runs(config, pretended, over, what):
    with pytest.raises(ConfigError, match=what):
        open_study(request(config, over))
    assert not Path("search").exists()


def test_what_is_searched_cannot_be_set_too(config, pretended):
    asked = request(config, "train_config.batch_size=1,2")
    with pytest.raises(HoldfastError, match="by --set and by --over"):
        open_study(SearchRequest(**vars(asked) | {"overrides": {"train_config.batch_size": "8"}}))


def test_a_search_that_is_killed_goes_on_where_it_was(config, pretended):
    asked = request(config, RATE, trials=12)
    for killed_after in (2, 6):
        process = searching(asked)
        wait_for(lambda limit=killed_after: count_runs(asked) > limit, process)
        time.sleep(0.15)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    begun = count_runs(asked)
    assert begun < 12
    study = open_study(asked)
    resumed = Resumed()
    search(asked, study, resumed)
    assert resumed.numbers, "the trial that was killed goes on"
    records = study.records()
    assert [each.number for each in records] == list(range(12))
    assert TrialState.RUNNING not in {each.state for each in records}


def test_two_processes_share_the_trials(config, pretended):
    asked = request(config, RATE, trials=10)
    processes = [searching(asked) for _ in range(2)]
    for process in processes:
        process.communicate()
    lines = Path("search", JOURNAL_NAME).read_text().splitlines()
    records = open_study(asked).records()
    assert len(records) == 10
    assert TrialState.RUNNING not in {each.state for each in records}
    assert len({json.loads(line)["worker_id"] for line in lines}) == 2


class Resumed(SearchReporter):
    def __init__(self) -> None:
        self.numbers: list[int] = []

    def began(self, trial) -> None:
        if trial.is_resumed:
            self.numbers.append(trial.number)


PROGRAM = """
import pickle, sys
from tests.tuning import pretended_holdfast
from holdfast.tuning import trial_process, search_loop
trial_process.holdfast_command = pretended_holdfast.command
search_loop.check_request = lambda request: None
request = pickle.loads(bytes.fromhex(sys.argv[1]))
search_loop.search(request, search_loop.open_study(request), search_loop.SearchReporter())
"""


def searching(asked: SearchRequest) -> subprocess.Popen:
    """Search in a process that can be killed."""
    project = Path(__file__).resolve().parents[2]
    paths = os.pathsep.join([str(project), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, pickle.dumps(asked).hex()],
        env=os.environ | {"PYTHONPATH": paths},
    )


def count_runs(asked: SearchRequest) -> int:
    return len(list(asked.out.glob("trials/*/manifest.json")))


def wait_for(is_reached, process: subprocess.Popen) -> None:
    while not is_reached():
        assert process.poll() is None, "it was over before it could be killed"
        time.sleep(0.02)
