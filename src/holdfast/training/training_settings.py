"""What a user decides about a training beyond the config."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.data.input.budget import DEFAULT_BUDGET_BYTES
from holdfast.memory.plan import MemoryPlan
from holdfast.training.optimization_choice import AS_CONFIGURED, OptimizationChoice

PEER_SECONDS = 600.0  # longer than a checkpoint of the first process takes, or a slow first batch
FEWEST_STEPS = 100  # between two evaluations: fewer change little, and may take less time than one


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How to train; the defaults suit a run of some hours."""

    steps: int | None = None  # None: train_config.num_steps
    seed: int = 0
    precision: str = "float32"
    accumulation: int = 1
    rematerialize: tuple[str, ...] = ()  # names of blocks, e.g. backbone/expanded_conv_3
    region_chunks: int = 1  # in which a second stage looks at its regions; 1: all at once
    class_weights: str | None = None  # auto, inverse, or a file
    teacher: str | None = None  # a run, a checkpoint of one, or an export to learn from
    optimization: OptimizationChoice = AS_CONFIGURED
    evaluate_every: int | None = None  # steps; None: a tenth of the run, FEWEST_STEPS at least
    checkpoint_every: int = 500  # steps
    keep: int = 5
    patience: int | None = None  # evaluations without a better one; None: never stop early
    deterministic: bool = False
    input_budget_bytes: int = DEFAULT_BUDGET_BYTES
    group_norms_every: int = 50  # steps
    capsule_at: tuple[int, ...] = ()  # steps to keep whole, from 1
    vitals_every: int | None = 100  # steps between looks at the network; None: never
    memory_bytes: int | None = None  # what the training may hold; None: what the device has left
    plan: MemoryPlan | None = None  # to be followed; None: one is made
    rehearses: bool = False  # computes the worst batch once before the first step
    peer_seconds: float = PEER_SECONDS  # to wait for another process, at the start and in a step
    measures: bool = False  # takes real steps in another process, to correct the plan

    def evaluation_interval(self, steps: int) -> int:
        """Say after how many steps to evaluate, in a training of so many."""
        return self.evaluate_every or max(FEWEST_STEPS, steps // 10)
