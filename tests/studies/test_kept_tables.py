"""What was measured once: each kept table comes out of its script again, or of what it is made from."""

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import ROOT
from support.mimic_hand import Hospital

from baselines.contract import TrialOptions
from baselines.space import resolve as searched
from benchmarks import data, registry
from benchmarks.data import Dataset
from benchmarks.data.mimic3 import MimicOptions
from benchmarks.defaults import table
from benchmarks.defaults.settings import OLD, TRIED
from benchmarks.metrics.base import LEVELS
from benchmarks.metrics.evaluate import evaluate
from benchmarks.report.deviations import MIMIC
from benchmarks.report.deviations import SCORING as FILE
from benchmarks.results import types
from benchmarks.results.folder import read_trials
from benchmarks.studies import _mimic_model as model
from benchmarks.studies import _variants as variants
from benchmarks.studies import deviations, mimic_costs, mimic_effects, switches
from benchmarks.studies.__main__ import main
from benchmarks.studies.deviations import Reading, integrated
from benchmarks.study import cost, reference
from benchmarks.study.trial import Key, hyper_parameters
from soden import SODEN
from soden.types import FloatArray, SurvivalData

# Effects of single deviations: their own formulas equal the metrics', and what the report says comes out again.


def part() -> tuple[SurvivalData, Callable[[FloatArray], FloatArray]]:
    """The last two subjects are censored, so that G ends at 0 before the last time."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 1))
    latent, censored = rng.exponential(np.exp(-x[:, 0])), rng.uniform(0.2, 3, 80)
    time, event = np.minimum(latent, censored) + 0.01, latent <= censored
    order = np.argsort(time)
    event[order[-2:]] = False
    return SurvivalData(time, event, x), lambda t: np.exp(-np.exp(0.7 * x) * t)


def test_without_a_change_they_are_the_metrics() -> None:
    test, survival = part()
    wanted = {(s.metric, s.g_tau): s.value for s in evaluate(test.time, test.event, survival)}
    for level in LEVELS:
        ibs, ibll = integrated(test, survival, level, Reading())
        assert ibs == pytest.approx(wanted["ibs", level], rel=1e-12)
        assert ibll == pytest.approx(wanted["ibll", level], rel=1e-12)


def test_the_kept_effects_come_out_again(load_public: Callable[[str], Dataset]) -> None:
    load_public("metabric")
    rows = [row for split in range(1, 11) for row in deviations.scores("metabric", "cox", split)]
    again = deviations.effects(pd.DataFrame(rows))
    kept = pd.read_csv(FILE).query("dataset == 'metabric' and model == 'cox'").reset_index(drop=True)
    pd.testing.assert_frame_equal(again, kept, atol=1.5e-5)


# Searches with one thing changed: without a change they are the reference's; each variant is what its name says.

REFERENCE = Path(__file__).resolve().parents[2] / "results" / "reference" / "trials.parquet"


def test_without_a_change_it_is_the_references_search(load_public: Callable[[str], Dataset]) -> None:
    load_public("metabric")
    row, _ = switches.chosen(("none", "metabric", "deepsurv", 1))
    frame = pd.read_parquet(REFERENCE).query("dataset == 'metabric' and model == 'deepsurv' and split == 1")
    best = None
    for trial in types.read_trials(frame[frame["trial"] < switches.TRIALS]):
        best = trial if trial.beats(best) else best
    assert best is not None
    assert (row["trial"], row["hyper"]) == (best.trial, best.hyper)
    assert row["score"] == best.score


def test_a_whole_search_is_changed_on_request() -> None:
    """What the two baselines that are stronger here than published wait for: with momentum, on both sets."""
    asked = list(switches.jobs(["momentum used"], ["support", "metabric"], ["deepsurv", "cox_time"]))
    assert len(asked) == len(set(asked)) == 2 * 2 * 2 * 10
    assert {job[0] for job in asked} == {"none", "momentum used"}
    assert {("none", *job[1:]) for job in asked} <= set(asked)
    whole = switches.Search(Path("results/replications/1"), 100)
    assert (switches.Search().name, whole.name) == ("switches", "switches-1-100")


def test_a_model_is_trained_further_on_another_division_of_the_same_subjects(
    load_public: Callable[[str], Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    load_public("metabric")
    given = []

    class Recorder:
        hyper: dict[str, object] = {}  # noqa: RUF012
        net = torch.nn.Linear(2, 1)

        def __init__(self, *_: object) -> None: ...

        def fit(self, train: SurvivalData, valid: SurvivalData, seed: int) -> None:
            given.append((train, valid, seed))

    again = switches.fine_tune(Recorder(), Key("metabric", "soden", 3, 7), TrialOptions())  # type: ignore[arg-type]
    torch.testing.assert_close(again.start, Recorder.net.state_dict())  # type: ignore[attr-defined]
    [(train, valid, _)] = given
    first, second, _ = switches.released_parts("metabric", 3)
    assert (len(train), len(valid)) == (len(first), len(second))
    assert not np.array_equal(train.time, first.time)
    together = np.sort(np.concatenate([train.time, valid.time]))
    np.testing.assert_array_equal(together, np.sort(np.concatenate([first.time, second.time])))


def test_effects_are_paired_by_split() -> None:
    """Closed form: gaps .1 and .3 have mean .2 and standard error .1; the splits' own spread plays no part."""
    key = {"dataset": "metabric", "model": "soden", "metric": "ctd", "g_tau": ""}
    values = {"none": (0.2, 0.8), "momentum used": (0.3, 1.1)}
    rows = [{**key, "change": c, "split": s, "value": v} for c, pair in values.items() for s, v in enumerate(pair)]
    (found,) = switches.effects(pd.DataFrame(rows)).to_dict("records")
    assert (found["change"], found["without"], found["splits"]) == ("momentum used", 0.5, 2)
    assert (found["effect"], found["standard_error"]) == (pytest.approx(0.2), pytest.approx(0.1))


@pytest.mark.parametrize("intervals", [5, 20])
def test_cuts_at_quantiles_are_pycoxs(intervals: int) -> None:
    from pycox.preprocessing.discretization import cuts_quantiles

    rng = np.random.default_rng(intervals)
    time, event = rng.exponential(size=300) ** 2, rng.random(300) < 0.6
    assert variants.quantile_cuts(time, event, intervals) == pytest.approx(cuts_quantiles(time, event, intervals))


# What a choice changes is measured by building both ways, and that for every choice that could be made otherwise.

# Never part of a result: a fixture of tests, and the unit of time.
APART = {"censor_without_dod_hosp", "days_per_year"}


def test_every_choice_has_an_alternative_and_its_effect_in_the_report() -> None:
    choices = set(MimicOptions().choices()) - APART
    assert {name for chosen in mimic_effects.ALTERNATIVES for name in chosen} == choices
    table = pd.read_csv(MIMIC, keep_default_na=False)
    for tables in ("MIMIC-III demo", "synthetic MIMIC-III tables"):
        rows = table[table["tables"] == tables].set_index("choice")
        assert set(rows.index) == choices
        assert (rows.loc[list(mimic_effects.SERIES), ["ctd", "ctd_sd"]] != "").all(axis=None)  # cells and scores
    assert len(fields(MimicOptions)) == len(MimicOptions().choices()) + 4  # row_counts, memory_gb, threads, progress


def test_patients_and_cells_that_change_are_counted(tmp_path: Path) -> None:
    ward = Hospital()
    people = [ward.patient() for _ in range(4)]
    for person in (people[0], people[2], people[3]):  # the notebook loses the one who has no GCS and no labs
        person.chart(2, 454, 6)
        person.lab(3, 51006, 10)
    people[2].lab(30, 50885, 2.0)  # bilirubin, 29 hours after the first record: it fills all 24 hours before
    raw = ward.write(tmp_path / "raw")
    chosen = [{"lost_admissions": "drop"}, {"impute_window": "first24"}]
    rows = {row["choice"]: row for row in mimic_effects.effects(raw, chosen)}
    assert (rows["lost_admissions"]["patients"], rows["lost_admissions"]["left"]) == (3, 1)
    assert rows["lost_admissions"]["series"] == 0
    assert rows["impute_window"]["left"] == rows["impute_window"]["came"] == 0
    assert rows["impute_window"]["series"] == pytest.approx(24 / (4 * 24 * 15), abs=5e-5)  # rounded to four digits
    assert "ctd" not in rows["impute_window"]  # four patients say nothing about scores


# The forecast for MIMIC: its rows follow from the kept measurements, by arithmetic that is checked piece by piece.

HYPER = {"layers": 2, "width": 16, "gru_width": 20, "batch_size": 512, "lr": 1e-3}


def test_the_rows_of_the_forecast_come_out_again(capsys: pytest.CaptureFixture[str]) -> None:
    kept = pd.read_csv(cost.MEASURED)
    rows = mimic_costs.rows()
    pd.testing.assert_frame_equal(rows, kept[kept["dataset"].isin(["mimic", "mimic_seq"])].reset_index(drop=True))
    assert main(["mimic_costs"]) == 0
    assert capsys.readouterr().out == rows.to_csv(index=False)


@pytest.mark.parametrize(("dataset", "name"), [("mimic", "deephit"), ("mimic_seq", "soden")])
def test_the_configuration_is_the_one_the_trial_draws(dataset: str, name: str) -> None:
    """Drawn by the trial from its model's whole space, here without loading the model."""
    space = searched(registry.model(name).space, data.module(dataset).SEARCH)
    for trial in (0, 7, 99):
        drawn = hyper_parameters(2022, Key(dataset, name, 3, trial), space, "truncate")
        again = model.configuration(2022, dataset, name, 3, trial, "truncate")
        assert {key: again[key] for key in again if key in drawn} == {key: drawn[key] for key in again if key in drawn}
        assert set(again) - set(drawn) <= {"intervals"}


def test_epochs_by_learning_rate_are_the_references() -> None:
    again, table = mimic_costs.epochs_by_rate(read_trials(reference.FOLDER)), pd.read_csv(model.EPOCHS, index_col=0)
    assert table.columns.astype(float).tolist() == again.columns.tolist()
    np.testing.assert_array_equal(table.loc[again.index], again)


# The study behind the defaults: its tables are made from its rows, its winner is what `SODEN()` is.

FOLDER = ROOT / "benchmarks" / "defaults"
ROWS = pd.read_csv(FOLDER / "rows.csv")


def test_the_tables_are_made_from_the_rows(tmp_path: Path) -> None:
    table.write(FOLDER / "rows.csv", tmp_path)
    for name in ("chosen.csv", "confirmed.csv"):
        assert (tmp_path / name).read_text() == (FOLDER / name).read_text()


def test_the_best_of_those_tried_are_the_defaults() -> None:
    best = pd.read_csv(FOLDER / "chosen.csv")["settings"].iloc[0]
    params = SODEN().get_params()
    assert {name: params[name] for name in TRIED[best]} == TRIED[best]
    assert set(ROWS.loc[ROWS["model"] == "old", "settings"]) == {json.dumps(OLD, sort_keys=True)}
