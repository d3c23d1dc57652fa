"""What all figures share: colours and markers of the models, sizes, panels, legends, and how files are written."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks.data.files import replacing
from benchmarks.results.tidy import TRUNCATIONS

G_TAU = TRUNCATIONS[0]  # P(C > tau) of the scores that figures show
WIDTH = 6.5  # inches: the text width of a page
PNG_DPI = 200
COLOURS = 128  # of a PNG
RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so every machine draws the same letters
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "pdf.fonttype": 42,  # embedded TrueType: text stays text, and publishers accept it
    "pdf.compression": 9,
    "savefig.dpi": PNG_DPI,
}

# Okabe and Ito's palette: told apart with every kind of colour vision; its yellow is left out, too light for lines.
BLACK, GREY = "#000000", "#6b6b6b"
ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7"


@dataclass(frozen=True)
class Look:
    """How a series is drawn; marker and line differ as well, for print in grey."""

    colour: str
    marker: str
    line: str | tuple[int, tuple[float, ...]] = "-"


LOOKS = {
    "cox": Look(BLACK, "s", ":"),
    "deepsurv": Look(ORANGE, "^", "--"),
    "cox_time": Look(SKY, "v", "-."),
    "nnet_survival": Look(GREEN, "D", (0, (5, 1))),
    "deephit": Look(PURPLE, "P", (0, (3, 1, 1, 1))),
    "soden": Look(VERMILION, "o", "-"),
    "soden_ph": Look(BLUE, "<", (0, (1, 1))),
    "soden_cox": Look(GREY, ">", (0, (8, 2))),
    # Beyond the paper: Tol's muted palette, as safe as the other.
    "kaplan_meier": Look("#888888", "x", (0, (1, 3))),
    "random_forest": Look("#117733", "H", "--"),
    "gradient_boosting": Look("#882255", "X", "-."),
    "mtlr": Look("#44AA99", "d", (0, (5, 1))),
    "pc_hazard": Look("#AA4499", "p", (0, (3, 1, 1, 1))),
    "sumo_net": Look("#332288", "*", "-"),
}
OTHERS = [Look(c, m, "-") for c, m in ((GREY, "h"), (BLACK, "X"), (GREY, "p"), (BLACK, "*"))]


@dataclass(frozen=True)
class Drawing:
    """A figure with its caption, and the alternative text for readers who do not see it."""

    name: str  # of the files
    figure: Figure
    caption: str
    alt: str
    sources: tuple[str, ...] = field(default=())  # files of the run it was made from


class NothingToDraw(Exception):
    """The run lacks what this figure shows; the text says what."""


def styled() -> AbstractContextManager[None]:
    """The settings under which everything is drawn and saved."""
    return mpl.rc_context(RC)  # type: ignore[arg-type]  # the stubs want literal keys


def look(model: str) -> Look:
    """The look of a model, the same in every figure; models that are not the paper's share the spare looks."""
    return LOOKS.get(model) or OTHERS[sum(model.encode()) % len(OTHERS)]


def dark(colour: str) -> str:
    """A colour dark enough for small print on white."""
    red, green, blue = to_rgb(colour)
    return to_hex((0.65 * red, 0.65 * green, 0.65 * blue))


def grid(
    rows: int, columns: int, height: float, width: float = WIDTH, **kwargs: Any
) -> tuple[Figure, list[list[Axes]]]:
    """A figure of equal panels, laid out by matplotlib; made without pyplot, so that no global state changes."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False, **kwargs)
    return figure, [list(row) for row in axes]


def columns_for(panels: int) -> int:
    """Columns of small panels: at most four, and few empty places in the last row."""
    return panels if panels <= 4 else 3 if panels <= 6 else 4


def panels(
    n: int, row: float, frame: float, columns: int = 0, width: float = WIDTH, **kwargs: Any
) -> tuple[Figure, list[Axes]]:
    """Small panels of equal size, row by row; places without a panel stay empty.

    `row` and `frame` are inches: of a row, and of what is around all of them.
    """
    columns = columns or columns_for(n)
    rows = -(-n // columns)
    figure, axes = grid(rows, columns, frame + row * rows, width, **kwargs)
    places = [panel for line in axes for panel in line]
    for empty in places[n:]:
        empty.set_visible(False)
    return figure, places[:n]


def title(axes: Axes, text: str, mark: str = "", below: str = "") -> None:
    """Title of a panel, a second line in small print, and the mark of its data (synthetic, demo) in a box beside."""
    axes.set_title(text, pad=15 if below else None)
    if below:
        at: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "xytext": (0, 4)}
        axes.annotate(below, (0, 1), fontsize=7, **at)
    if mark:
        box = {"boxstyle": "round,pad=0.25", "facecolor": "#fff1e6", "edgecolor": VERMILION, "linewidth": 0.8}
        where: dict[str, Any] = {
            "xycoords": "axes fraction",
            "textcoords": "offset points",
            "xytext": (0, 15 if below else 4),
        }
        where |= {"ha": "right", "va": "bottom"}
        axes.annotate(f"{mark.upper()} DATA", (1, 1), fontsize=6, color=VERMILION, bbox=box, **where)


def heading(name: str, mark: str, effort: str) -> str:
    """Heading of a figure that shows one data set."""
    return f"{name}{f'  [{mark.upper()} DATA]' if mark else ''}: {effort}"


def legend(figure: Figure, handles: Sequence[Artist], fontsize: float = 7.5, **kwargs: Any) -> None:
    """One legend for all panels, above them, in as many columns as fit."""
    longest = max(len(str(handle.get_label())) for handle in handles)
    entry = (0.54 * longest + 4.5) * fontsize / 72  # inches: letters, the line before them and the gap after
    most = max(1, min(len(handles), int(figure.get_figwidth() / entry)))
    columns = -(-len(handles) // -(-len(handles) // most))  # as even rows as there must be
    figure.legend(handles=list(handles), loc="outside upper center", ncols=columns, fontsize=fontsize, **kwargs)


def handle(label: str, style: Look, **kwargs: Any) -> Line2D:
    """An entry of the legend."""
    values: dict[str, Any] = {"color": style.colour, "marker": style.marker, "linestyle": style.line, "label": label}
    return Line2D([], [], **(values | kwargs))


def freeze(figure: Figure) -> None:
    """Lay the figure out once and for all: the layout, the dearest step, would be done anew for every file."""
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()
        figure.set_layout_engine("none")


def shrink(path: Path) -> None:
    """Reduce a PNG to a palette: flat colours and antialiased text need no more, in a fifth of the bytes."""
    from PIL import Image

    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    small.save(path, format="PNG", optimize=True)


def save(drawing: Drawing, folder: Path) -> list[Path]:
    """Write PDF and PNG; no date and no program version inside, so the same data give the same bytes."""
    paths = []
    with styled():
        freeze(drawing.figure)
    for suffix, metadata in (
        (".pdf", {"CreationDate": None, "Producer": None, "Creator": None, "Title": drawing.name}),
        (".png", {"Software": None, "Title": drawing.name}),
    ):
        path = folder / f"{drawing.name}{suffix}"
        with replacing(path) as part, styled():
            drawing.figure.savefig(part, format=suffix[1:], metadata=metadata)
            if suffix == ".png":
                shrink(part)
        paths.append(path)
    return paths
