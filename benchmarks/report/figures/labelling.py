"""Labels of points that cover neither each other nor the points: each tries places around its point."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

DIRECTIONS = 16
DISTANCES = (7, 11, 16, 22, 29, 37)  # points
DOT = 4.0  # half the side, in points, of the square around a point that labels keep clear of


def place_labels(axes: Axes, labels: Sequence[Annotation], bars: Iterable[tuple[float, float, float]] = ()) -> None:
    """Move the labels, crowded ones first, to the free place nearest its point; far ones get a line.

    `bars` are vertical lines (x, low, high) in data units to keep clear of. Needs a drawn figure. Deterministic: no
    random starts, ties go to the first direction.
    """
    scale = axes.figure.dpi / 72
    spots = [axes.transData.transform(label.xy) for label in labels]
    taken = [Bbox.from_extents(x - DOT * scale, y - DOT * scale, x + DOT * scale, y + DOT * scale) for x, y in spots]
    lines = []
    for at, low, high in bars:
        (x, bottom), (_, top) = axes.transData.transform([(at, low), (at, high)])
        lines.append(Bbox.from_extents(x - scale, min(bottom, top), x + scale, max(bottom, top)))
    frame = axes.bbox
    crowd = [sum(math.dist(a, b) for b in spots) for a in spots]
    for k in sorted(range(len(labels)), key=lambda i: crowd[i]):
        label, spot = labels[k], spots[k]
        box = label.get_window_extent()
        best = min(_places(box, spot, scale), key=lambda place: _cost(place[0], place[1], taken, lines, frame))
        offset = best[2]
        label.set_position(offset)
        label.set_horizontalalignment("center")
        label.set_verticalalignment("center")
        if best[1] > DISTANCES[0]:
            axes.annotate(
                "",
                label.xy,
                xytext=offset,
                textcoords="offset points",
                zorder=1,
                arrowprops={"arrowstyle": "-", "color": "#b0b0b0", "linewidth": 0.5, "shrinkB": 3, "shrinkA": 5},
            )
        taken.append(best[0])


def _places(box: Bbox, spot: Iterable[float], scale: float) -> list[tuple[Bbox, float, tuple[float, float]]]:
    """Boxes around a point: (box in pixels, distance, offset of its centre in points)."""
    x, y = spot
    half_width, half_height = box.width / 2 / scale, box.height / 2 / scale
    places = []
    for distance in DISTANCES:
        for k in range(DIRECTIONS):
            angle = 2 * math.pi * k / DIRECTIONS
            # An ellipse-like ring: the label's near edge, not its centre, is `distance` away.
            dx = math.cos(angle) * (distance + half_width)
            dy = math.sin(angle) * (distance + half_height)
            centre = x + dx * scale, y + dy * scale
            size = (half_width + 1) * scale, (half_height + 0.5) * scale
            moved = Bbox.from_extents(
                centre[0] - size[0], centre[1] - size[1], centre[0] + size[0], centre[1] + size[1]
            )
            places.append((moved, float(distance), (dx, dy)))
    return places


def _cost(box: Bbox, distance: float, taken: list[Bbox], lines: list[Bbox], frame: Bbox) -> float:
    """Points of distance, and what covering costs: points and labels must stay free, a thin bar may be crossed."""
    size = _area(box)
    covered = sum(_area(Bbox.intersection(box, other)) for other in taken) / size
    crossed = sum(_area(Bbox.intersection(box, line)) for line in lines) / size
    outside = 1 - _area(Bbox.intersection(box, frame)) / size
    return 1000 * (covered + outside) + 300 * crossed + distance


def _area(box: Bbox | None) -> float:
    return 0.0 if box is None else box.width * box.height
