"""Critical-difference diagrams: mean ranks of all models over the data sets, joined where Nemenyi's test sees none."""

from __future__ import annotations

from matplotlib.axes import Axes

from benchmarks.report.figures.style import Drawing, NothingToDraw, dark, grid, look
from benchmarks.report.figures.view import View
from benchmarks.report.wording import p_is
from benchmarks.results.names import dataset_label, metric_at_tau, model_label
from benchmarks.results.ranks import FLOOR, Ranking, rankings

LINE = 0.15  # inches per model of one side


def draw(run: View) -> list[Drawing]:
    """One figure, a panel per metric that enough models have on enough data sets."""
    ranked, reasons = rankings(run.cells)
    if not ranked:
        raise NothingToDraw("; ".join(reasons))
    heights = [0.85 + LINE * _lines(ranking) for ranking in ranked]
    figure, axes = grid(len(ranked), 1, sum(heights), gridspec_kw={"height_ratios": heights})
    for [panel], ranking in zip(axes, ranked, strict=True):
        _panel(panel, ranking)
    names = ", ".join(dataset_label(d) for d in ranked[0].datasets)
    left_out = {model_label(m) for r in ranked for m in r.without if r.metric != "nll"}
    sentences = [
        f"Mean ranks over {len(ranked[0].datasets)} data sets, 1 is best; P(C > τ) = 1e-8. Bars join models whose mean "
        "ranks differ by less than Nemenyi's critical difference (CD, 5%); p is of Friedman's test with Iman and "
        "Davenport's F. Blocks are data sets, since splits of one are not independent.",
        f"Not on all data sets, so not ranked: {', '.join(sorted(left_out))}." if left_out else "",
        f"Data sets: {names}.",
    ]
    best = "; ".join(f"{r.metric}: {model_label(next(iter(r.mean_ranks)))} first" for r in ranked)
    alt = f"Critical-difference diagrams of mean ranks. {best}."
    return [Drawing("critical_difference", figure, " ".join(filter(None, sentences)), alt, ("cells.csv",))]


def _lines(ranking: Ranking) -> int:
    return -(-len(ranking.mean_ranks) // 2)


def _panel(axes: Axes, ranking: Ranking) -> None:
    """Best ranks to the left; the better half is named on the left side, the other half on the right."""
    k, half = len(ranking.mean_ranks), _lines(ranking)
    bars = ranking.cliques
    first = -0.9 - 0.45 * len(bars)  # labels begin below the bars
    axes.set(xlim=(1 - 0.34 * (k - 1), k + 0.34 * (k - 1)), ylim=(first - half, 2.0))
    axes.axis("off")
    p = p_is(ranking.p_value)
    if FLOOR in ranking.mean_ranks:
        p += f", without {model_label(FLOOR)} {p_is(ranking.p_contenders)}"
    axes.set_title(f"{metric_at_tau(ranking.metric)}: {p}", fontsize=8.5, fontweight="bold", loc="left")
    axes.plot([1, k], [0, 0], color="black", linewidth=0.8)
    for tick in range(1, k + 1):
        axes.plot([tick, tick], [0, 0.25], color="black", linewidth=0.6)
        axes.text(tick, 0.4, str(tick), ha="center", va="bottom", fontsize=6)
    width = min(ranking.critical_difference, k - 1.0)
    axes.plot([k - width, k], [1.6, 1.6], color="black", linewidth=1.2)
    axes.text(k - width - 0.15, 1.6, f"CD {ranking.critical_difference:.1f}", ha="right", va="center", fontsize=6)
    for j, (model, rank) in enumerate(ranking.mean_ranks.items()):
        left = j < half
        y = first - (j if left else k - 1 - j)
        end = 1 - 0.03 * (k - 1) if left else k + 0.03 * (k - 1)
        style = look(model)
        axes.plot([rank, rank, end], [0, y, y], color=style.colour, linewidth=0.8)
        name, side = f"{model_label(model)}  {rank:.1f}", "right" if left else "left"
        axes.text(
            end, y, f"{name} " if left else f" {name}", ha=side, va="center", fontsize=7, color=dark(style.colour)
        )
    for i, clique in enumerate(bars):
        ends = [ranking.mean_ranks[clique[0]] - 0.08, ranking.mean_ranks[clique[-1]] + 0.08]
        height = -0.5 - 0.45 * i
        axes.plot(ends, [height, height], color="black", linewidth=2.4, solid_capstyle="butt")
