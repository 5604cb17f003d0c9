"""augmentation-destroys-boxes: after the augmentations, few boxes are left to learn from."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix

# Published crops keep 60 % and more of COCO's boxes.
_FEW, _HARDLY_ANY = 0.45, 0.2


@check("augmentation-destroys-boxes", about="config", needs=("augmentation_trial",))
def augmentation_destroys_boxes(case: Case) -> Iterator[Finding]:
    """The augmentations cut off, shrink, blank or drop most of the boxes.

    Why it happens: crops that were published for COCO's large objects meet small ones; a scale of
    0.1 leaves 3 pixels of what had 30; an overlap threshold drops every box that the border cuts;
    black patches, or a brightness that is changed by its whole range, leave nothing to see; boxes
    are jittered away from their objects. The network then learns that images show background.

    How it is seen: the config's own augmentations are run on up to 32 images of the data, twice
    each. Counted are the boxes that are left with sides of 4 pixels or more of the network's input,
    with pixels that differ, and where they were if the pixels stayed in their places. Fewer than
    45 % are a warning, fewer than 20 % an error.

    What helps: a larger min_area or scale_min, min_object_covered of 0, or leaving the step out.
    """
    trial = case.augmentation_trial
    if trial.kept >= _FEW or not trial.usable:
        return
    shares = [1.0, *(step.usable / trial.usable for step in trial.steps)]
    falls = [before - after for before, after in pairwise(shares)]
    worst = falls.index(max(falls))
    yield Finding(
        code="augmentation-destroys-boxes",
        severity="error" if trial.kept < _HARDLY_ANY else "warning",
        what=f"After the augmentations {trial.kept:.0%} of the boxes are left; most are lost to "
        f"{trial.steps[worst].name}.",
        why="What is cut away or too small cannot be learned: images look like background.",
        evidence={
            "images": trial.images,
            "boxes": trial.boxes,
            "smallest_side": trial.smallest_side,
            "after_each_step": [
                {"augmentation": step.name, "boxes_left": round(share, 3)}
                for step, share in zip(trial.steps, shares[1:], strict=True)
            ],
        },
        fix=Fix(
            text=f"Do less of it in train_config.data_augmentation_options[{worst}], or remove it."
        ),
    )
