"""Splits out as CSV, predictions in: round trips against the study's own scores, and every mistake answered."""

import io
import json
import re
import runpy
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

from benchmarks import data
from benchmarks.__main__ import main
from benchmarks.commands import score
from benchmarks.data.preprocess import prepared
from benchmarks.data.splits import make_split
from benchmarks.metrics.evaluate import evaluate
from benchmarks.study.export import export_split, needed_times
from benchmarks.study.gather import gather
from benchmarks.study.predictions import BadPredictions, Curves, check_against_data, find_file, read_curves

IDS = np.array([3, 8, 5, 11])
TIMES = np.array([0.0, 0.5, 1.0, 2.5])
S = np.array([[1, 0.9, 0.8, 0.1], [1, 0.5, 0.5, 0.5], [1, 1, 0.2, 0.0], [1, 0.7, 0.6, 0.5]])
UNTIL = 2.25


def table(S: Any = S, times: Any = TIMES, ids: Any = IDS) -> pd.DataFrame:
    return pd.DataFrame(S, columns=[f"{t!r}" if isinstance(t, str) else f"{t:.17g}" for t in times]).assign(id=ids)


def csv(frame: pd.DataFrame) -> Callable[[Path], None]:
    return lambda folder: frame.to_csv(folder / "1.csv", index=False)


def text(content: str, name: str = "1.csv") -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / name).write_text(content)

    return write


def npz(**arrays: Any) -> Callable[[Path], None]:
    return lambda folder: np.savez(folder / "1.npz", **arrays)


def changed(row: int, column: int, value: float) -> pd.DataFrame:
    new = S.copy()
    new[row, column] = value
    return table(new)


RISING = np.cumsum(np.full((4, 4), 0.2), axis=1)
GOOD = {"id": IDS, "times": TIMES, "survival": S}
BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "nothing there": (lambda folder: None, r"no predictions for split 1 \(wanted: one of 1.csv.*there is: nothing\)"),
    "another name": (text("id\n", "split1.csv"), r"no predictions for split 1 .*there is: split1.csv"),
    "another format": (text("x", "1.xlsx"), r"no predictions for split 1 .*there is: 1.xlsx"),
    "two files": (lambda f: (csv(table())(f), npz(**GOOD)(f))[0], r"has 1.csv and 1.npz; keep one file"),
    "an empty file": (text(""), r"cannot be read as csv \(No columns"),
    "a damaged parquet": (text("PAR1 no", "1.parquet"), r"cannot be read as parquet"),
    "a damaged npz": (text("PK no", "1.npz"), r"cannot be read as npz"),
    "a pickle in the npz": (npz(id=IDS, times=TIMES, survival=np.array([{}])), r"cannot be read as npz .*no objects"),
    "an npz of other arrays": (npz(ids=IDS, surv=S), r"lacks id, times, survival; .*got ids, surv"),
    "a transposed npz": (npz(id=IDS[:3], times=TIMES, survival=S[:, :3]), r"survival \(4, 3\); it looks transposed"),
    "text in the npz": (npz(id=IDS.astype(str), times=TIMES, survival=S), r"id must hold numbers; got <U"),
    "no ids": (csv(table().drop(columns="id")), r"has no columns named id; the first column is the id"),
    "headers that are no times": (csv(table().rename(columns={"0.5": "t1"})), r"headed by times in years.*got 't1'"),
    "a written index": (lambda f: table().to_csv(f / "1.csv"), r"got 'nan'. An index column is best left out"),
    "words for probabilities": (text("id,0,1,3\n3,1,high,0\n"), r"no numbers, in '1'; predict everybody"),
    "a blank": (csv(changed(1, 2, np.nan)), r"missing or no numbers, in '1'"),
    "a nan in the npz": (npz(**GOOD | {"survival": S * np.array([1, 1, np.nan, 1])}), r"missing or infinite prob"),
    "one time": (csv(table(S[:, :1], TIMES[:1])), r"has 1 times; a curve needs at least two"),
    "negative times": (csv(table(times=TIMES - 1)), r"finite and not negative; got -1, -0.5"),
    "infinite times": (npz(**GOOD | {"times": [0, 1, 2, np.inf]}), r"finite and not negative; got 0, 1, 2, inf"),
    "times in disorder": (csv(table(times=[0, 1, 0.5, 3])), r"times must ascend; 1 is followed by 0.5"),
    "a time twice": (text("id,0,1,1,3\n3,1,1,1,1\n"), r"times must ascend; 1 comes twice"),
    "times that end early": (csv(table(times=[0, 0.5, 1, 2])), r"times end at 2, but .* up to 2.25 years"),
    "times in days": (csv(table(times=TIMES * 365.25)), r"from 0 to 913.125, where .* 2.25 years; are they in another"),
    "times that begin late": (csv(table(times=[2, 3, 4, 5])), r"from 2 to 5, where the test part's go to 2.25"),
    "a subject missing": (csv(table().iloc[1:]), r"1 subjects of the test part are missing \(3\); .*has 4; .*has 3"),
    "a subject too many": (csv(table(ids=[3, 8, 5, 12])), r"are missing \(11\) and 1 are not of this test part \(12\)"),
    "a subject twice": (csv(table(ids=[3, 8, 8, 11])), r"has 8 more than once"),
    "ids that are fractions": (csv(table(ids=[3, 8, 5.5, 11])), r"ids must be the whole numbers of test.csv"),
    "per cent": (csv(table(100 * S)), r"within \[0, 1\]; got 0 to 100; divide per cent by 100"),
    "negative probabilities": (csv(changed(0, 3, -0.2)), r"within \[0, 1\]; got -0.2 to 1$"),
    "a rising curve": (csv(changed(3, 3, 0.9)), r"subject 11 goes from 0.6 at 1 to 0.9 at 2.5$"),
    "the dead instead of the living": (csv(table(RISING, TIMES + 0.1)), r"must not rise; .*are these 1 - S\?"),
    "not alive at time 0": (
        csv(changed(2, 0, 0.9).assign(**{"0.5": 0.8})),
        r"alive at time 0, where S must be 1; got 0.9",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_predictions_are_refused_with_a_sentence(case: str, tmp_path: Path) -> None:
    write, message = BROKEN[case]
    write(tmp_path)
    with pytest.raises(BadPredictions, match=message) as error:
        read_curves(find_file(tmp_path, 1), IDS, UNTIL)
    assert str(tmp_path) in str(error.value)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadPredictions, match=r"there is no folder .*none; --predictions names the folder"):
        find_file(tmp_path / "none", 1)


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
def test_three_formats_and_any_order_of_subjects(kind: str, tmp_path: Path) -> None:
    shuffled = [2, 0, 3, 1]
    if kind == "npz":
        np.savez(tmp_path / "1.npz", id=IDS[shuffled], times=TIMES, survival=S[shuffled])
    elif kind == "csv":
        table(S[shuffled], ids=IDS[shuffled]).to_csv(tmp_path / "1.csv", index=False)
    else:
        table(S[shuffled], ids=IDS[shuffled]).to_parquet(tmp_path / "1.parquet")
    curves = read_curves(find_file(tmp_path, 1), IDS, UNTIL)
    np.testing.assert_array_equal(curves.survival, S)
    np.testing.assert_array_equal(curves(TIMES), S)


def test_curves_between_their_times() -> None:
    """Worked out by hand: 0.25 is half way from 0 to 0.5, 1.75 half way from 1 to 2.5; nothing is known before 0.5."""
    at = np.array([0.25, 1.75, 9.0])
    np.testing.assert_allclose(Curves(TIMES, S)(at)[0], [0.95, 0.45, 0.1])
    np.testing.assert_allclose(Curves(TIMES, S, "steps")(at)[0], [1.0, 0.8, 0.1])
    np.testing.assert_allclose(Curves(TIMES[1:], S[:, 1:])(at)[0], [0.95, 0.45, 0.1])
    np.testing.assert_allclose(Curves(TIMES[1:], S[:, 1:], "steps")(at)[0], [1.0, 0.8, 0.1])


def test_rounding_is_forgiven(tmp_path: Path) -> None:
    noisy = S.copy()
    noisy[1, 3] += 5e-7
    noisy[0, 0] += 5e-7
    csv(table(noisy))(tmp_path)
    curves = read_curves(tmp_path / "1.csv", IDS, UNTIL)
    assert (np.diff(curves.survival, axis=1) <= 0).all()
    assert curves.survival.max() == 1


def test_times_that_lost_their_last_digit_on_the_way_are_read_and_others_told_apart(tmp_path: Path) -> None:
    """pandas reads 0.3 of a file as 0.30000000000000004 or one below, unless told to round-trip."""
    until = 7.8
    times = np.array([0.0, 0.5, 1.0, np.nextafter(until, 0)])
    csv(table(times=times))(tmp_path)
    curves = read_curves(tmp_path / "1.csv", IDS, until)
    np.testing.assert_array_equal(curves(np.array([until]))[:, 0], S[:, -1])
    csv(table(times=np.array([0.0, 0.5, 1.0, until - 1e-7])))(tmp_path)
    with pytest.raises(BadPredictions, match=r"times end at 7\.7999999, but the metrics read curves up to 7\.8 years"):
        read_curves(tmp_path / "1.csv", IDS, until)


def test_export_holds_what_the_study_trains_on(tmp_path: Path) -> None:
    dataset = data.load("gbsg2")
    split = make_split(dataset, "drawn", 2, seed=5)
    export_split(dataset, split, tmp_path)
    for part, expected in zip(
        ("train", "valid", "test"), prepared(dataset, split, "train", "valid", "test"), strict=True
    ):
        frame = pd.read_csv(tmp_path / f"{part}.csv", float_precision="round_trip")
        np.testing.assert_array_equal(frame["id"], split.part(part))
        np.testing.assert_array_equal(frame["time"], expected.time)
        np.testing.assert_array_equal(frame["event"], expected.event)
        np.testing.assert_array_equal(frame.iloc[:, 3:].to_numpy(np.float32), expected.x)
        raw = pd.read_csv(tmp_path / f"raw_{part}.csv")
        assert tuple(raw.columns[3:]) == dataset.columns
        np.testing.assert_array_equal(raw.iloc[:, 3:], dataset.x[split.part(part)])
    test = dataset.take(split.test)
    times = pd.read_csv(tmp_path / "times.csv", float_precision="round_trip")["time"].to_numpy()
    assert set(test.time) <= set(times)
    assert np.diff(times).min() > 1e-9
    gaps = np.abs(needed_times(test.time, test.event)[:, None] - times).min(axis=1)
    assert gaps.max() < 1e-7, "every time that a metric reads is there"


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of Cox and of a stand-in for SODEN (Kaplan-Meier's curves) on three drawn splits of GBSG2."""
    from baselines.cox import Cox
    from baselines.kaplan_meier import KaplanMeier

    folder = tmp_path_factory.mktemp("study") / "results" / "made"
    dataset = data.load("gbsg2")
    rows = []
    for number in (1, 2, 3):
        train, valid, test = prepared(dataset, make_split(dataset, "drawn", number, seed=9), "train", "valid", "test")
        for name, model in (("cox", Cox()), ("soden", KaplanMeier())):
            model.fit(train, valid)
            found = evaluate(test.time, test.event, lambda t, m=model, d=test: m.predict_survival(d, t))
            rows += [("gbsg2", name, number, "published", *s) for s in found]
    scores = pd.DataFrame(rows, columns=["dataset", "model", "split", "convention", "metric", "g_tau", "value"])
    trials = scores[["dataset", "model", "split"]].drop_duplicates().assign(trial=0, status="ok")
    folder.mkdir(parents=True)
    gather(
        scores, trials, "published", trials.groupby(["dataset", "model"]).size().reset_index(name="n_splits"), folder
    )
    pd.DataFrame([dataset.summary() | {"splits": "drawn"}]).to_csv(folder / "datasets.csv", index=False)
    config = {"tier": "small", "seed": 9, "split_source": "auto", "evaluation": {"convention": "published"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "data").mkdir()
    (folder / "data" / "gbsg2.json").write_text(json.dumps({"dataset": "gbsg2", "sha256": dataset.sha256()}))
    return folder


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported")
    assert main(["data", "export", "gbsg2", "--out", str(out), "--n", "3", "--seed", "9"]) == 0
    return out


@pytest.fixture(scope="module")
def cox_predictions(exported: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cox fitted to the exported files, at the times that the metrics read."""
    from baselines.cox import Cox
    from soden.types import SurvivalData

    out = tmp_path_factory.mktemp("predictions")
    for number in (1, 2, 3):
        parts = {}
        for part in ("train", "valid", "test"):
            frame = pd.read_csv(exported / str(number) / f"{part}.csv")
            parts[part] = SurvivalData(frame["time"], frame["event"], frame.iloc[:, 3:])
        model = Cox()
        model.fit(parts["train"], parts["valid"])
        times = pd.read_csv(exported / str(number) / "times.csv")["time"].to_numpy()
        np.savez(
            out / f"{number}.npz", id=frame["id"], times=times, survival=model.predict_survival(parts["test"], times)
        )
    return out


def call(reference: Path, predictions: Path, *more: str, label: str = "My <Cox>", dataset: str = "gbsg2") -> int:
    words = ["score", "--data", dataset, "--predictions", str(predictions), "--label", label]
    return main([*words, "--reference", "made", "--directory", str(reference.parents[1]), *more])


def test_a_model_scored_from_outside_has_its_own_scores(
    reference: Path, cox_predictions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exported, fitted, predicted, read back: the same Cox, so the same numbers as the run's, and no difference."""
    assert call(reference, cox_predictions) == 0
    out = cox_predictions / "scores"
    own = pd.read_csv(out / "scores.csv")
    theirs = pd.read_csv(reference / "scores.csv").query("model == 'cox'")
    both = own.merge(theirs, on=["split", "metric", "g_tau"], suffixes=("", "_run"))
    assert len(both) == len(own) == len(theirs)
    # Observed times go out and come back exactly; a grid's have nine decimals and may fall across a step of Cox's, one
    # of a thousand in an average.
    np.testing.assert_allclose(both["value"], both["value_run"], atol=1e-4)
    exact = both["metric"].isin(["ctd", "uno", "antolini", "dcal"])
    np.testing.assert_allclose(both["value"][exact], both["value_run"][exact], atol=1e-9)
    tests = pd.read_csv(out / "tests.csv", dtype={"g_tau": str})
    against = tests[tests["model"] == "cox"]
    np.testing.assert_allclose(against["difference"], 0, atol=1e-4)
    km = tests[(tests["model"] == "soden") & (tests["metric"] == "ibs") & (tests["g_tau"] == "1e-8")].iloc[0]
    assert km["difference"] < 0, "Cox has a lower Brier score than a curve for everybody"
    assert km["difference"] == pytest.approx(km["mean"] - km["their_mean"])
    said = capsys.readouterr().out
    assert re.search(r"ibs  My <Cox> 0\.\d+, SODEN 0\.\d+: difference -0\.\d+, p ", said)
    page = (out / "page.html").read_text()
    assert "My &lt;Cox&gt; on GBSG2" in page
    assert "<Cox>" not in page
    assert "My <Cox>" in (out / "table.tex").read_text()
    assert set(pd.read_csv(out / "table.csv")["model"]) == {"cox", "soden", "my_cox"}


def test_it_is_said_how_it_compares_with_the_model_that_the_run_names(
    reference: Path, cox_predictions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(reference, tmp_path / "results" / "made")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"compare_with": "cox"}))
    assert call(folder, cox_predictions, "--out", str(tmp_path / "out")) == 0
    assert re.search(r"ibs  My <Cox> (0\.\d+), Cox \1: difference", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"label": "Cox"}, "--label 'Cox' names a model of made; choose another one"),
        ({"label": "!?"}, "must hold a letter or a digit"),
        ({"dataset": "whas500"}, "made has no scores of WHAS500 to compare with, only of gbsg2"),
        ({"splits": "4"}, r"made has splits 1 to 3; --splits got \[4\]"),
    ],
)
def test_what_cannot_be_compared_is_said(
    more: dict[str, str], message: str, reference: Path, cox_predictions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    label, dataset = more.get("label", "Mine"), more.get("dataset", "gbsg2")
    words = ["--splits", more["splits"]] if "splits" in more else []
    words = [*words, f"--label={label}"]
    assert call(reference, cox_predictions, *words, dataset=dataset) == 1
    assert re.search(message, capsys.readouterr().err)


def test_other_data_are_not_compared(reference: Path, cox_predictions: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    from benchmarks.results.folder import read_results

    dataset = data.load("gbsg2")
    moved = replace(dataset, time=dataset.time + 1)
    with pytest.raises(BadPredictions, match="GBSG2 here is not the GBSG2 of made"):
        score.splits_of(read_results(reference), moved, None)


def test_fewer_splits_if_asked(reference: Path, cox_predictions: Path, tmp_path: Path) -> None:
    assert call(reference, cox_predictions, "--splits", "1", "3", "--out", str(tmp_path)) == 0
    assert set(pd.read_csv(tmp_path / "scores.csv")["split"]) == {1, 3}
    assert set(pd.read_csv(tmp_path / "tests.csv")["n_splits"]) == {2}


def test_the_example_is_scored_and_imports_nothing_of_ours(
    reference: Path, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (ROOT / "examples" / "score_weibull.py").read_text()
    assert not re.search(r"^\s*(from|import) (soden|baselines|benchmarks)", source, flags=re.MULTILINE)
    monkeypatch.setattr(sys, "argv", ["score_weibull.py", str(exported), str(tmp_path / "weibull")])
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    runpy.run_path(str(ROOT / "examples" / "score_weibull.py"), run_name="__main__")
    assert call(reference, tmp_path / "weibull", label="Weibull AFT") == 0
    tests = pd.read_csv(tmp_path / "weibull" / "scores" / "tests.csv", dtype={"g_tau": str})
    ibs = tests[(tests["metric"] == "ibs") & (tests["g_tau"] == "1e-8")].set_index("model")["difference"]
    assert ibs["soden"] < 0, "it beats Kaplan-Meier"
    assert abs(ibs["cox"]) < 0.01, "and is close to Cox, which has the same linear predictor"


def test_series_are_not_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dataclasses import replace

    dataset = data.load("gbsg2")
    series = replace(dataset, seq=np.zeros((len(dataset), 2, 1)), seq_columns=("a",))
    monkeypatch.setattr(data, "load", lambda name: series)
    assert main(["data", "export", "gbsg2", "--out", str(tmp_path)]) == 1
    assert "GBSG2 has series, which a CSV does not hold" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_times_in_months_are_refused_and_far_curves_warned_of(tmp_path: Path) -> None:
    """Exponential times of rate 1: months make everybody live twelve times as long; right ones say nothing."""
    rng = np.random.default_rng(0)
    time, event = rng.exponential(size=400), np.ones(400, dtype=bool)
    at = np.linspace(0, float(time.max()), 200)
    S = np.tile(np.exp(-at), (400, 1))
    assert check_against_data(tmp_path, Curves(at, S), time, event) == ""
    with pytest.raises(BadPredictions, match=r"are they in months or days\? Give years"):
        check_against_data(tmp_path, Curves(12 * at, S), time, event)
    assert "are the times in years, and is it S" in check_against_data(tmp_path, Curves(at, S**0.1), time, event)
    few, early = time < 0.1, np.minimum(time, 0.1)  # a tenth have events
    assert check_against_data(tmp_path, Curves(at, S), early, few) == ""
    with pytest.raises(BadPredictions, match="are they in months"):
        check_against_data(tmp_path, Curves(12 * at, S), early, few)
