"""From scores to cells: mean, standard error, marks and the paired t-test against SODEN (Section 5.4)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from benchmarks.results.names import MODELS, REFERENCE, VARIANTS, metric
from benchmarks.results.tidy import CELL, PAPER_METRICS, require, tidy_scores

ALPHA = 0.05
# Nadeau and Bengio (2003): overlapping training parts make the plain t-test optimistic; n_test / n_train of a 3:1:1
# split corrects its variance. Cox, fitted on train + valid, would have 1/4: a third is the cautious choice for it.
TEST_TO_TRAIN = 1 / 3
CELLS = [
    *("table", "dataset", "model", "metric", "g_tau", "mean", "standard_error", "n_splits", "n_planned", "n_trials"),
    *("mark", "p_value", "p_corrected", "significant", "status"),
]
TESTS = [*CELL, "model", "reference", "difference", "t", "df", "p_value", "p_corrected", "n_splits"]


def compare(scores: pd.DataFrame, reference: str = REFERENCE, test_to_train: float = TEST_TO_TRAIN) -> pd.DataFrame:
    """Paired two-sided t-tests of every model against the reference, on the splits where both have a finite score.

    One row per dataset, metric, g_tau and model; `difference` is the model's mean minus the reference's.
    """
    scores = tidy_scores(scores)
    rows = []
    for key, group in scores[np.isfinite(scores["value"])].groupby(CELL, sort=False):
        wide = group.pivot(index="split", columns="model", values="value")
        for model in wide.columns:
            if model == reference or reference not in wide:
                continue
            both = wide[[model, reference]].dropna()
            test = paired_t((both[model] - both[reference]).to_numpy(), test_to_train)
            rows.append((*key, model, reference, *test, len(both)))
    return pd.DataFrame(rows, columns=TESTS)


def paired_t(
    differences: npt.NDArray[np.float64], test_to_train: float = TEST_TO_TRAIN
) -> tuple[float, float, int, float, float]:
    """Return (mean, t, degrees of freedom, p, corrected p) of paired differences.

    p is nan with fewer than two pairs, 1 when all pairs are equal, 0 when all differ by the same amount.
    """
    n = len(differences)
    if n < 2:
        return (float(differences.mean()) if n else np.nan), np.nan, max(n - 1, 0), np.nan, np.nan
    mean = float(differences.mean())
    if not differences.any():  # identical scores, e.g. a model compared with its own copy: 0/0 otherwise
        return 0.0, 0.0, n - 1, 1.0, 1.0
    variance = float(differences.var(ddof=1))
    with np.errstate(divide="ignore"):
        t, corrected = (float(np.divide(mean, np.sqrt(f * variance))) for f in (1 / n, 1 / n + test_to_train))
    return mean, t, n - 1, _two_sided(t, n - 1), _two_sided(corrected, n - 1)


def _two_sided(t: float, df: int) -> float:
    return float(2 * stats.t.sf(abs(t), df))


def summarise(
    scores: pd.DataFrame,
    trials: pd.DataFrame | None = None,
    reference: str = REFERENCE,
    planned: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return one cell per table, dataset, model, metric and g_tau; nothing planned is left out.

    `table` is "main" (the paper's models but SODEN's variants), "ablation" (SODEN and its variants), or, where a model
    was run that is not the paper's, "beyond" (all): a model may be in several, ranked among different ones.

    `planned` (dataset, model, n_splits) says what was to be run; without it, every model seen in scores or trials was
    planned on every split seen for its dataset. `status` is "ok", "partial" (fewer splits than planned), "failed",
    "missing" or "not_applicable" (the model has scores, but not of this metric).
    """
    scores = tidy_scores(scores)
    cells = _grid(scores, trials, planned)
    cells = cells.merge(_moments(scores), how="left", on=[*CELL, "model"])
    cells["n_splits"] = cells["n_splits"].fillna(0).astype(int)
    cells["n_trials"] = _trial_counts(cells, scores, trials)
    cells["status"] = _status(cells, scores, trials)
    tests = compare(scores, reference)[[*CELL, "model", "p_value", "p_corrected"]]
    cells = cells.merge(tests, how="left", on=[*CELL, "model"])
    cells["significant"] = cells["p_value"] < ALPHA
    of_paper, variant = cells["model"].isin(list(MODELS)), cells["model"].isin(VARIANTS)
    main = cells[of_paper & (~variant | (cells["model"] == REFERENCE))].assign(table="main")
    tables = [main, cells[variant].assign(table="ablation")]
    if not of_paper.all():
        tables.append(cells.assign(table="beyond"))
    return _mark(pd.concat(tables, ignore_index=True))[CELLS]


def _moments(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard error sd / sqrt(n), ddof 1, over the splits that have a finite score."""
    groups = scores[np.isfinite(scores["value"])].groupby([*CELL, "model"])["value"]
    found = groups.agg(mean="mean", sd="std", n_splits="count").reset_index()
    found["standard_error"] = found["sd"] / np.sqrt(found["n_splits"])
    return found.drop(columns="sd")


def _grid(scores: pd.DataFrame, trials: pd.DataFrame | None, planned: pd.DataFrame | None) -> pd.DataFrame:
    """Every planned (dataset, model) with every metric of its dataset, and the number of splits it should rest on."""
    seen = [scores[["dataset", "model", "split"]]]
    if trials is not None:
        require(trials, ["dataset", "model", "split", "trial"], "trials")
        seen.append(trials[["dataset", "model", "split"]])
    runs = pd.concat(seen).drop_duplicates()
    plan = runs[["dataset", "model"]].drop_duplicates()
    plan["n_planned"] = plan["dataset"].map(runs.groupby("dataset")["split"].nunique())
    if planned is not None:
        require(planned, ["dataset", "model", "n_splits"], "planned runs")
        stated = planned[["dataset", "model", "n_splits"]].rename(columns={"n_splits": "n_planned"})
        plan = pd.concat([stated, plan]).drop_duplicates(["dataset", "model"])
    metrics = scores[CELL].drop_duplicates()
    unscored = [name for name in plan["dataset"].unique() if name not in set(metrics["dataset"])]
    paper = pd.DataFrame([(name, *pair) for name in unscored for pair in PAPER_METRICS], columns=CELL)
    return plan.merge(pd.concat([metrics, paper]), on="dataset").astype({"n_planned": int})


def _trial_counts(cells: pd.DataFrame, scores: pd.DataFrame, trials: pd.DataFrame | None) -> pd.Series:
    """The smallest number of trials on any split the model was scored on (all its splits, if it has no score)."""
    if trials is None:
        return pd.Series(np.nan, index=cells.index)
    unit = ["dataset", "model", "split"]
    counts = trials.drop_duplicates([*unit, "trial"]).groupby(unit).size().rename("n").reset_index()
    scored = counts.merge(scores[unit].drop_duplicates(), on=unit)
    fewest = counts.groupby(["dataset", "model"])["n"].min()
    fewest.update(scored.groupby(["dataset", "model"])["n"].min())
    return pd.Series(
        [fewest.get(key, np.nan) for key in zip(cells["dataset"], cells["model"], strict=True)], cells.index
    )


def _status(cells: pd.DataFrame, scores: pd.DataFrame, trials: pd.DataFrame | None) -> list[str]:
    finite = scores[np.isfinite(scores["value"])]
    has_rows = set(scores[[*CELL, "model"]].itertuples(index=False, name=None))
    has_scores = set(finite[["dataset", "model"]].itertuples(index=False, name=None))
    tried, succeeded = set(), set()
    if trials is not None:
        tried = set(trials[["dataset", "model"]].itertuples(index=False, name=None))
        good = trials[trials["status"] == "ok"] if "status" in trials else trials
        succeeded = set(good[["dataset", "model"]].itertuples(index=False, name=None))

    def status(cell: pd.Series) -> str:
        run = (cell["dataset"], cell["model"])
        if cell["n_splits"]:
            return "ok" if cell["n_splits"] >= cell["n_planned"] else "partial"
        if (*(cell[name] for name in CELL), cell["model"]) in has_rows or run in tried - succeeded:
            return "failed"
        return "not_applicable" if run in has_scores else "missing"

    return [status(cell) for _, cell in cells.iterrows()]


def _mark(cells: pd.DataFrame) -> pd.DataFrame:
    """Rank 1 is best and rank 2 second, by the mean rounded as printed; two best leave no second."""
    cells["mark"] = ""
    for (table, _, name, _), group in cells.dropna(subset="mean").groupby(["table", *CELL]):
        # Discrete and continuous likelihoods are not comparable (Section 5.3), so nll is ranked in the ablation only.
        known = metric(name)
        if known is None or (name == "nll" and table == "main"):
            continue
        rounded = group["mean"].map(lambda mean: round(mean, 3))
        rank = rounded.rank(method="min", ascending=not known.higher_is_better)
        cells.loc[group.index, "mark"] = rank.map({1.0: "best", 2.0: "second"}).fillna("")
    return cells
