from __future__ import annotations

import io

from rich.console import Console

from holdfast.cli.train.pace import MeasuredPace
from holdfast.cli.train.train_display import Bar, Display, Lines, display
from holdfast.memory.plan import MemoryPlan, StepSettings
from holdfast.training.reporter import TakenStep, TrainingOutline

PLAN = TrainingOutline(
    steps=9,
    start=2,
    batch_size=4,
    accumulation=1,
    images=10,
    boxes=20,
    classes=2,
    variables=3,
    parameters=30,
    frozen=0,
    device="CPU",
    precision="float32",
    started_from="fresh weights",
    memory=MemoryPlan(
        fits=True,
        limit_bytes=10,
        base_bytes=1,
        predicted_peak_bytes=2,
        items={"weights": 2},
        settings=StepSettings(micro_batch=4),
    ),
)


def shown(make: type[Bar] | type[Lines], *, is_terminal: bool, evaluation_images: int = 0) -> str:
    """Show three steps and an evaluation."""
    file = io.StringIO()
    terminal = Console(file=file, force_terminal=is_terminal, force_interactive=is_terminal)
    told: Display = make(terminal)
    assert type(display(terminal)) is make
    pace = MeasuredPace(
        steps=PLAN.steps,
        evaluate_every=3,
        checkpoint_every=3,
        batch_size=PLAN.batch_size,
        evaluation_images=evaluation_images,
    )
    told.begin(PLAN)
    for step in (3, 4, 9):
        pace.stepped(0.5, 0.5)
        losses = {"Loss/classification_loss": 1.0 * step, "Loss/total_loss": 1.0 * step}
        told.step(
            TakenStep(
                step=step,
                losses=losses,
                learning_rate=0.01,
                gradient_norm=1.0,
                step_seconds=0.5,
                input_seconds=0.5,
                resident_bytes=2**30,
            ),
            pace,
        )
        told.evaluating(1, 2)
        told.evaluating(2, 2)
    told.end()
    told.end()
    return file.getvalue()


def test_without_a_terminal_the_first_and_the_last_step_have_a_line_and_no_other_has():
    lines = shown(Lines, is_terminal=False).splitlines()
    assert lines == [
        "step 3 of 9: loss 3 (classification 3), learning rate 0.01, memory 1 GiB, "
        "the first step took 1 s",
        "step 9 of 9: loss 9 (classification 9), learning rate 0.01, 4 images/s, "
        "50% of the time waiting for images, memory 1 GiB, 1.0 s/step",
    ]


def test_before_the_evaluation_at_the_end_its_time_is_told():
    last = shown(Lines, is_terminal=False, evaluation_images=120).splitlines()[-1]
    assert last.endswith("1.0 s/step, 10 s to evaluate and save")  # 30 batches, and the graph


def test_on_a_terminal_a_bar_tells_steps_evaluation_and_the_last_step():
    text = shown(Bar, is_terminal=True)
    for piece in ("training", "9/9", "1.0 s/step", "loss 9 (classification 9)", "memory 1 GiB"):
        assert piece in text
