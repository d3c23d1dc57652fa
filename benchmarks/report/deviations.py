"""Fill deviations.toml for a run: where paper and authors' code disagree, what this run does, and what it changes."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from benchmarks.report.conventions import effect
from benchmarks.results.folder import Results
from benchmarks.results.names import dataset_label, metric_label, model_label
from benchmarks.results.statistics import ALPHA

TEXTS = Path(__file__).with_name("deviations.toml")
MIMIC = Path(__file__).with_name("deviations_mimic.csv")  # made by `python -m benchmarks.studies mimic_effects`
REFERENCE = Path(__file__).resolve().parents[2] / "results" / "reference"
SCORING = REFERENCE / "deviations.csv"  # made by `python -m benchmarks.studies deviations`: how scores are read
SWITCHES = REFERENCE / "switches.csv"  # made by `python -m benchmarks.studies switches`: how models are trained
SHOWN = ("ctd", "ibll", "ibs", "nll")  # the paper's metrics


@dataclass(frozen=True)
class Deviation:
    """One disagreement, as printed."""

    topic: str
    paper: str
    found: str  # what its numbers or the authors' code say
    here: str
    switch: str
    effect: str  # of one or more lines
    is_mimic: bool = False  # a choice in the MIMIC cohort


@dataclass(frozen=True)
class _Measured:
    """`{name[key]}` in the texts: what a function says of the key."""

    text_of: Callable[[str], str]

    def __getitem__(self, key: str) -> str:
        return self.text_of(key)


def deviations(run: Results) -> list[Deviation]:
    """The rows of deviations.toml, with effects measured on this run where that needs no further training."""
    texts = tomllib.loads(TEXTS.read_text(encoding="utf-8"))
    training, convention = run.config["training"], run.config["evaluation"]["convention"].replace("auto", "published")
    values = {
        "convention": f"as {convention}",
        "nll": training["nll"],
        "momentum": "used" if training["use_momentum"] else "drawn, not used",
        "clip": f"{training['clip']:g}",
        "floors": "as the authors' code" if training["nll"] == "authors" else "the hazard is floored as a whole",
        "widths": run.config["width_rounding"],
        "splits": ", ".join(dict.fromkeys(run.split_sources.values())),
        "tests": _tests(run),
        "metabric": _metabric(run),
        "solver": _solver(run),
        "together": _Measured(lambda metrics: _together(run, *metrics.split())),
        "alone": _Measured(_alone),
        "searched": _Measured(_searched),
    }
    rows = [
        Deviation(
            **row | {name: row[name].format_map(values) for name in ("here", "effect")},
            is_mimic=row["topic"].startswith("MIMIC"),
        )
        for row in texts["deviation"]
    ]
    chosen = run.config["data"]["mimic"]["options"]
    for row in texts["mimic"]:
        choice = row.pop("choice")
        here = str(chosen.get(choice, row["here"]))
        switch = f"data.mimic.options.{choice}"
        rows.append(Deviation(**row | {"here": here, "switch": switch, "effect": _mimic(choice), "is_mimic": True}))
    return rows


def _mimic(choice: str) -> str:
    """What the other value does to the open demo and to invented tables; the real ones are for those who have them."""
    table = pd.read_csv(MIMIC)
    lines = []
    for row in table[table["choice"] == choice].itertuples():
        changes = (
            [f"patients: {row.left} leave, {row.came} come, {row.patients} are in"] if row.left or row.came else []
        )
        shares = (("outcomes", row.outcomes), ("columns", row.columns), ("series", row.series))
        changes += [f"{share:.1%} of the cells of the {name}" for name, share in shares if share > 0]
        if row.ctd == row.ctd:
            changes.append(f"C {row.ctd:+.4f} (sd over 5 splits {row.ctd_sd:.4f})")
        lines.append(f"{row.tables}, {row.value}: {', '.join(changes) or 'nothing changes in what both versions have'}")
    return "\n".join([*lines, "on the real tables: python -m benchmarks.studies mimic_effects"])


def _together(run: Results, *metrics: str) -> str:
    """How far the paper's text and its numbers are apart on the same predictions of real data, all things together."""
    real = run.conventions[~run.conventions["dataset"].isin(run.marks)]
    parts = [
        f"{dataset_label(name)} {metric_label(metric)} {mean:.4f} (largest {most:.4f})"
        for metric in metrics
        for name, mean, most in effect(real, metric)
    ]
    return "\n".join(["published − text, mean and largest:", *parts]) if parts else "not measured in this run"


def _alone(change: str) -> str:
    """What one change to scoring does to Cox and SODEN on the authors' splits; nothing if nobody measured it."""
    rows = pd.read_csv(SCORING) if SCORING.is_file() else pd.DataFrame(columns=["change"])
    parts = [
        f"{dataset_label(row.dataset)} {metric_label(row.metric)} {model_label(row.model)} {row.mean:.4f} "
        f"(largest {row.largest:.4f})"
        for row in rows[rows["change"] == change].itertuples()
    ]
    return "\n".join(["alone, on the authors' splits:", *parts, ""]) if parts else ""


def _searched(change: str) -> str:
    """What a search of its own with one change to training gave, without truncation."""
    if not SWITCHES.is_file():
        return "not measured here: python -m benchmarks.studies switches"
    rows = pd.read_csv(SWITCHES, dtype={"g_tau": str}).fillna({"g_tau": ""})
    rows = rows[(rows["change"] == change) & rows["g_tau"].isin(["", "1e-8"]) & rows["metric"].isin(SHOWN)]
    if rows.empty:
        return "not measured here: python -m benchmarks.studies switches"
    lines = [f"{int(rows['splits'].max())} splits, 10 trials each, effect ± standard error:"]
    for (dataset, model), part in rows.groupby(["dataset", "model"], sort=False):
        effects = (f"{metric_label(str(r.metric))} {r.effect:+.4f} ± {r.standard_error:.4f}" for r in part.itertuples())
        lines.append(f"{dataset_label(str(dataset))} {model_label(str(model))}: {', '.join(effects)}")
    return "\n".join(lines)


def _tests(run: Results) -> str:
    tests = run.tests[~run.tests["dataset"].isin(run.marks)].dropna(subset="p_value")
    if tests.empty:
        return "not measured in this run"
    plain, corrected = (int((tests[name] < ALPHA).sum()) for name in ("p_value", "p_corrected"))
    return f"{plain} of {len(tests)} differences from SODEN are significant, {corrected} with the corrected variance"


def _metabric(run: Results) -> str:
    row = run.datasets[run.datasets["dataset"] == "metabric"]
    if row.empty:
        return "true mean censored time: 13.3 years"
    printed = float(row["censored_mean"].iloc[0])
    return f"{printed:.2f} printed is {printed * 365.25 / 12:.1f} years"


def _solver(run: Results) -> str:
    errors = run.trials["solver_error"].dropna() if "solver_error" in run.trials else run.trials.iloc[:0, 0]
    if errors.empty:
        return "not measured in this run"
    return f"solver error of {len(errors)} fits: median {errors.median():.1e}, largest {errors.max():.1e}"
