"""Write the numbers of README.md and docs from the results: `make numbers`; `--check` only compares.

A block stands between `<!-- numbers: NAME -->` and `<!-- numbers end -->` in Markdown, between `.. numbers: NAME` and
`.. numbers end` in reStructuredText. Each NAME is a function here that returns its text.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import numerics

numerics.set_up()

import numpy as np
import pandas as pd

from benchmarks.__main__ import main as benchmarks
from benchmarks.report.agreement import judge
from benchmarks.report.claims.check import Evidence, check_claims, kept_replications
from benchmarks.report.figures.enough import growth
from benchmarks.report.page_context import paragraph
from benchmarks.results.counting import counted
from benchmarks.results.folder import Results, read_results
from benchmarks.results.names import MODELS, dataset_label, metric_label, model_label
from benchmarks.results.published import published_cells
from benchmarks.results.ranks import rankings
from benchmarks.results.replications import read_searches
from benchmarks.results.statistics import ALPHA

REFERENCE, BEYOND = ROOT / "results" / "reference", ROOT / "results" / "beyond"
FILES = ("README.md", "docs/findings.rst", "docs/reproduce.rst", "docs/benchmark.rst")
BLOCK = re.compile(r"(?:<!-- |\.\. )numbers: (\w+)(?: -->)?\n(.*?)(?=(?:<!-- |\.\. )numbers end)", re.DOTALL)
SHOWN = ("support ctd 0.4 soden", (0, 1, 2, -1))  # an `explain` and its lines that docs/benchmark.rst shows


def table(name: str) -> pd.DataFrame:
    """A CSV of the reference; `g_tau` is text."""
    return pd.read_csv(REFERENCE / name, dtype={"g_tau": str}).fillna({"g_tau": ""})


def short(value: float, digits: int = 3, sign: bool = False) -> str:
    """A number as the paper prints it: .654, -.008."""
    text = f"{value:+.{digits}f}" if sign and round(value, digits) else f"{abs(value):.{digits}f}"
    return text.replace("0.", ".", 1)


def wrapped(text: str) -> str:
    """A paragraph in lines of at most 120 characters."""
    return textwrap.fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False) + "\n"


def counts() -> str:
    """How many published values were tried and judged, and how many statements hold on each data set."""
    run = read_results(REFERENCE)
    rows = judge(run, published_cells())
    claims = check_claims(run, published_cells(), kept_replications())
    return wrapped(f"{paragraph(run, rows, claims)} {_leads(run)}")


def _leads(run: Results) -> str:
    """SODEN's C against the other continuous-time models: how often ahead, and what remains of the significance."""
    tests = counted(run.scores)
    tests = tests[tests["model"].isin(["cox", "deepsurv", "cox_time"]) & (tests["metric"] == "ctd")]
    texts = []
    for dataset in ("support", "metabric"):
        part = tests[tests["dataset"] == dataset]
        ahead, plain, both = part["gain"] < 0, part["p_value"] < ALPHA, part["p_corrected_holm"] < ALPHA
        counts = (ahead & plain).sum(), (ahead & both).sum()
        words = (
            "(in {}, in {})" if texts else "(significant in {}, after Holm's and Nadeau and Bengio's corrections in {})"
        )
        texts.append(f"in {ahead.sum()} of {len(part)} comparisons on {dataset_label(dataset)} {words.format(*counts)}")
    return f"SODEN's Cᵗᵈ is higher than that of Cox, DeepSurv and Cox-Time {' and '.join(texts)}."


def headline() -> str:
    """The main metrics of every model, ours beside the paper's."""
    cells = table("agreement.csv")
    columns = [(dataset, metric) for dataset in ("support", "metabric") for metric in ("ctd", "ibs", "nll")]
    heads = ["model", *(f"{dataset_label(dataset)} {metric_label(metric)}" for dataset, metric in columns)]
    lines = [".. csv-table::", f"   :header: {', '.join(heads)}", ""]
    for model, label in MODELS.items():
        row = [label]
        for dataset, metric in columns:
            level = "" if metric == "nll" else "1e-8"
            key = (cells["model"] == model) & (cells["dataset"] == dataset) & (cells["metric"] == metric)
            found = cells[key & (cells["g_tau"] == level)]
            row.append(
                "" if found.empty else "{} ({})".format(*(short(found[k].iloc[0]) for k in ("mean", "paper_mean")))
            )
        lines.append(f"   {', '.join(row)}".rstrip())
    return "\n".join(lines) + "\n"


def beyond() -> str:
    """What the six further models and four further data sets show."""
    run = read_results(BEYOND)
    by_metric = {ranking.metric: ranking for ranking in rankings(run.cells)[0]}
    p_values = ", ".join(f"{metric_label(m)} {by_metric[m].p_contenders:.2g}" for m in ("ctd", "ibll", "ibs", "nll"))
    tests = counted(run.scores).query("table == 'beyond'")
    corrected = tests[tests["p_corrected_holm"] < 0.05]
    ranks = [by_metric[m].mean_ranks for m in ("ctd", "ibll", "ibs")]
    ahead = [model_label(m) for m in ranks[0] if all(m in r and r[m] < r["soden"] for r in ranks)]
    kaplan_meier = (corrected["model"] == "kaplan_meier").sum()
    return wrapped(f"""
        The run has {len(run.trials):,} trials, of which {run.trials["taken_from"].isna().sum():,} were made for it.
        Without the floor of Kaplan-Meier, Friedman's test over data sets gives p = {p_values}. Of {len(tests)} tests
        against SODEN {(tests["p_value"] < 0.05).sum()} are significant plainly, {len(corrected)} once corrected for
        their number and for overlapping splits; {kaplan_meier} of these are Kaplan-Meier's, and
        {(corrected["gain"] > 0).sum()} are in another model's favour.
        Better mean ranks than SODEN in C, IBLL and IBS alike:
        {", ".join(ahead) or "none"}.""")


def explain() -> str:
    """The beginning and the end of an `explain`."""
    words, lines = SHOWN
    with contextlib.redirect_stdout(io.StringIO()) as out:
        benchmarks(["explain", *words.split(), "--run", "reference"])
    printed = [line.rstrip() for line in out.getvalue().splitlines() if line.strip()]
    first, last = [printed[i] for i in lines[:-1]], printed[lines[-1]]
    shown = [f"$ python -m benchmarks explain {words} --run reference", *first, "...", last]
    return "\n".join([".. code-block:: console", "", *(f"   {line}" for line in shown), ""])


def switches() -> str:
    """The effects of single changes of training that are more than two of their standard errors."""
    effects = table("switches.csv")
    effects = effects[effects["g_tau"].isin(("1e-8", "")) & effects["metric"].isin(("ctd", "ibs", "nll"))]
    effects = effects[
        (effects["change"] != "plain mean NLL") | (effects["dataset"] != "metabric")
    ]  # one chunk holds all
    large = effects[effects["effect"].abs() > 2 * effects["standard_error"]]
    lines = [".. csv-table::", "   :header: change, data, model, metric, effect", ""]
    for row in large.sort_values(["change", "dataset", "model"], kind="stable").itertuples():
        effect = f"{short(row.effect, sign=True)} ± {short(row.standard_error)}"
        names = (row.change, dataset_label(row.dataset), model_label(row.model), metric_label(row.metric))
        lines.append(f"   {', '.join(names)}, {effect}")
    text = (
        f"Of {len(effects)} effects (C, IBS and NLL) these {len(large)} are more than two standard errors; by chance "
        f"alone {0.05 * len(effects):.0f} would be:"
    )
    return "\n".join(["", wrapped(text), *lines, "", ""])


def interpolation() -> str:
    """The discrete-time models with interpolation between their cuts and as step functions."""
    run = read_results(REFERENCE)
    evidence = Evidence(run.cells, run)
    lines = [".. csv-table::", "   :header: data, model, C, IBLL, IBS", ""]
    for dataset in ("support", "metabric"):
        for model in ("nnet_survival", "deephit"):
            cells = [evidence.against_steps(dataset, model, metric, "1e-8") for metric in ("ctd", "ibll", "ibs")]
            texts = [f"{_signed(smooth)} / {_signed(steps)} (p = {p:.2g})" for smooth, steps, p in cells]
            lines.append(f"   {dataset_label(dataset)}, {model_label(model)}, {', '.join(texts)}")
    return "\n".join(["", *lines, "", ""])


def _signed(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)


def uno() -> str:
    """Where SODEN stands among the models by Uno's concordance and by the time-dependent one."""
    cells = read_results(REFERENCE).cells.drop_duplicates(["dataset", "model", "metric", "g_tau"])
    texts = []
    for dataset in ("support", "metabric"):
        places = []
        for metric in ("ctd", "uno"):
            part = cells[(cells["dataset"] == dataset) & (cells["metric"] == metric) & (cells["g_tau"] == "1e-8")]
            place = int(part.set_index("model")["mean"].rank(ascending=False)["soden"])
            places.append(f"{place} of {len(part)} by {'C^td' if metric == 'ctd' else 'Uno'}")
        texts.append(f"{dataset_label(dataset)}: {' and '.join(places)}")
    return wrapped("SODEN's place among the models, " + "; ".join(texts) + ".")


def enough() -> str:
    """By how much the expected scores still move from 50 trials to 100."""
    scores = growth(read_searches([REFERENCE])).set_index(["dataset", "model", "metric"])
    moved = (scores[scores["k"] == 100]["expected"] - scores[scores["k"] == 50]["expected"]).unstack("metric")
    texts = []
    for metric, text in (("ctd", "C"), ("ibs", "IBS")):
        low, high = moved[metric].idxmin(), moved[metric].idxmax()
        ends = [
            f"{short(moved.loc[key, metric], 4, sign=True)} ({model_label(key[1])} on {dataset_label(key[0])})"
            for key in (low, high)
        ]
        texts.append(f"{text} by {' to '.join(ends)}")
    return wrapped(f"From 50 trials to 100 the expected scores still move: {', '.join(texts)}.")


def simulation() -> str:
    """How near the curves of both models are to the truth, over the repetitions."""
    metas = [run["meta"] for run in read_results(REFERENCE).simulations]
    texts = []
    for model in ("soden", "deephit"):
        found = [meta["models"][model] for meta in metas]
        errors = np.array([one["survival_error"] for one in found])
        early, late = (np.array([one[name] for one in found]) for name in ("hazard_error", "hazard_error_late"))
        cross = np.array([one["crossing"] for one in found], dtype=float)
        crossing = f"{np.nanmean(cross):.2f} ± {np.nanstd(cross, ddof=1):.2f}"
        mean, most = short(errors.mean(), 4), short(errors.max(), 4)
        texts.append(
            f"{model_label(model)}: mean error of S {mean}, at most {most}, and of the "
            f"hazard {early.mean():.2f} for t up to 0.5 and {late.mean():.2f} beyond 1.5; the curves cross at "
            f"{crossing} (truth 1), in {np.isfinite(cross).sum()} of {len(cross)} draws"
        )
    return wrapped(f"Over {len(metas)} draws of {metas[0]['n']:,} subjects. " + ". ".join(texts) + ".")


BLOCKS: dict[str, Callable[[], str]] = {
    function.__name__: function
    for function in (counts, headline, beyond, explain, switches, interpolation, uno, enough, simulation)
}


def written(text: str) -> str:
    """The text with all its blocks made anew."""

    def block(found: re.Match[str]) -> str:
        made = BLOCKS[found.group(1)]()
        if found.group().startswith(".."):  # a comment of reStructuredText ends at a blank line
            made = "\n" + made.strip("\n") + "\n\n"
        return found.group().removesuffix(found.group(2)) + made

    return BLOCK.sub(block, text)


def main(words: list[str]) -> int:
    """Write, or with --check name what would change."""
    stale = []
    for name in FILES:
        old = (ROOT / name).read_text()
        if (new := written(old)) == old:
            continue
        stale.append(name)
        if "--check" not in words:
            (ROOT / name).write_text(new)
    if stale and "--check" in words:
        print(f"the numbers of {', '.join(stale)} are not those of results/; run `make numbers`")
        return 1
    print(f"numbers of {', '.join(FILES)}: " + ("written" if stale else "as in results/"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
