"""Draw the curves of a run: python docs/images/curve.py RUN docs/images/bccd.svg [METRIC LABEL]."""

from __future__ import annotations

import sys
from pathlib import Path

from holdfast.runs.run import Run

MAP_50 = "DetectionBoxes_Precision/mAP@.50IOU"
LABEL = "mAP at 0.5, test images"
WIDTH, HEIGHT, MARGIN = 720, 300, 50
SMOOTHED = 20  # steps, over which the loss is averaged

Points = list[tuple[float, float]]


def main(run: str, picture: str, metric: str = MAP_50, label: str = LABEL) -> None:
    """Write training loss and a metric, by default mAP at 0.5, over the steps."""
    events = list(Run.open(Path(run)).read_events())
    losses = [
        (event.step, sum(value for name, value in event.values["losses"].items() if _counts(name)))
        for event in events
        if event.kind == "step"
    ]
    scores = [
        (event.step, event.values["metrics"][metric])
        for event in events
        if event.kind == "evaluation"
    ]
    steps = losses[-1][0]
    top = max(loss for _, loss in _smoothed(losses))
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        *_axes(steps, top, label),
        _line(_smoothed(losses), steps, top, "#888888"),
        _line(scores, steps, 1.0, "#d62728"),
        *(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#d62728"/>'
            for x, y in (_place(point, steps, 1.0) for point in scores)
        ),
        "</svg>",
    ]
    Path(picture).write_text("\n".join(drawn) + "\n")


def _counts(name: str) -> bool:
    return not name.endswith(("regularization_loss", "total_loss"))


def _smoothed(points: Points) -> Points:
    means = []
    for end in range(SMOOTHED, len(points) + 1, SMOOTHED // 2):
        window = points[end - SMOOTHED : end]
        means.append((window[-1][0], sum(value for _, value in window) / SMOOTHED))
    return means


def _place(point: tuple[float, float], steps: float, top: float) -> tuple[float, float]:
    x = MARGIN + (WIDTH - 2 * MARGIN) * point[0] / steps
    return x, HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * point[1] / top


def _line(points: Points, steps: float, top: float, color: str) -> str:
    placed = " ".join(f"{x:.1f},{y:.1f}" for x, y in (_place(p, steps, top) for p in points))
    return f'<polyline points="{placed}" fill="none" stroke="{color}" stroke-width="2"/>'


def _axes(steps: float, top: float, label: str) -> list[str]:
    lines = []
    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        _, y = _place((0, part), steps, 1.0)
        x, _ = _place((part * steps, 0), steps, 1.0)
        right = WIDTH - MARGIN
        lines += [
            f'<line x1="{MARGIN}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>',
            f'<text x="{MARGIN - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#d62728">'
            f"{part}</text>",
            f'<text x="{right + 8}" y="{y + 4:.1f}" fill="#888888">{part * top:.2g}</text>',
            f'<text x="{x:.1f}" y="{HEIGHT - 28}" text-anchor="middle">{part * steps:.0f}</text>',
        ]
    return [
        *lines,
        f'<text x="{MARGIN}" y="25" fill="#d62728">{label}</text>',
        f'<text x="{WIDTH - MARGIN}" y="25" text-anchor="end" fill="#888888">'
        "loss, without the penalty on the weights</text>",
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">steps</text>',
    ]


if __name__ == "__main__":
    main(*sys.argv[1:])
