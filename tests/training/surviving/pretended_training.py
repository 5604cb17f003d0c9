"""A supervisor and a child that only pretends to train: python pretended_training.py RUN ACT,… ….

The child plays one list of acts at each start, the last one again and again:

    step:7          takes steps until 7 are done         save:5          the same, and saves
    die:SIGKILL     dies of a signal                     exit:3          ends by itself
    native:TEXT     native code writes to standard error print:TEXT      Python does
    listen          waits for signals that ask to stop, says which, and ends with code 1
    wait            waits, and listens to nothing        tty             says what is a terminal

The parent says what it is told, and which of the heavy libraries it has loaded.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path


def supervised(run: Path) -> None:
    from holdfast.training.surviving.supervisor import TrainingDiedError, supervise

    heavy = {"tensorflow", "keras", "numpy"} & set(sys.modules)
    print("loaded:", *heavy, flush=True)
    try:
        code = supervise(sys.orig_argv, run, lambda text: print("told:", text, flush=True))
    except TrainingDiedError as error:
        print(f"error: {error.message} {error.fix}", flush=True)
        sys.exit(1)
    sys.exit(code)


def pretend(run_folder: Path, starts: list[str]) -> None:
    from holdfast.runs.manifest import RunManifest
    from holdfast.runs.run import Run, is_run

    if is_run(run_folder):
        run = Run.resume(run_folder)
    else:
        manifest = RunManifest(config={}, seed=0, versions={}, started="")
        run = Run.create(run_folder, manifest, "")
    counter = run_folder.with_suffix(".starts")
    start = int(counter.read_text()) if counter.exists() else 0
    counter.write_text(str(start + 1))
    saved = [event.step for event in run.read_events() if event.kind == "saved"]
    done = max(saved, default=0)
    run.events.truncate_after(done)
    for act in starts[min(start, len(starts) - 1)].split(","):
        name, _, value = act.partition(":")
        if name in ("step", "save"):
            for step in range(done + 1, int(value) + 1):
                run.events.append(step, "step")
            done = int(value)
        if name == "save":
            run.events.append(done, "saved")
        if name not in ("step", "save"):
            ACTS[name](value)


def listen(_: str) -> None:
    heard: list[str] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: heard.append(signal.Signals(number).name))
    print("listening", flush=True)
    while not heard:
        time.sleep(0.01)
    time.sleep(0.5)  # if the same came twice, it is here now
    print("heard:", *heard, flush=True)
    sys.exit(1)


def wait(_: str) -> None:
    print("waiting", os.getpid(), flush=True)
    time.sleep(60)


def print_terminals(_: str) -> None:
    names = ("stdin", "stdout", "stderr")
    print("terminals:", *(name for name in names if getattr(sys, name).isatty()), flush=True)


ACTS = {
    "die": lambda name: os.kill(os.getpid(), getattr(signal, name)),
    "exit": lambda code: sys.exit(int(code)),
    "native": lambda text: os.write(2, f"{text}\n".encode()),
    "print": lambda text: print(text, file=sys.stderr),
    "listen": listen,
    "wait": wait,
    "tty": print_terminals,
}


def main() -> None:
    from holdfast.training.surviving.supervised import join_supervisor, needs_supervisor

    run = Path(sys.argv[1])
    if needs_supervisor():
        supervised(run)
    join_supervisor()
    pretend(run, sys.argv[2:])


if __name__ == "__main__":
    main()
