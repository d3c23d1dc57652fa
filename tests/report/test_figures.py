"""The figures: the numbers behind them, that nothing planned goes missing, that labels stay apart, same bytes again."""

import argparse
import contextlib
import itertools
import json
import shutil
from importlib import import_module
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from support.fake_run import MODELS, write_run

from benchmarks.commands import report as command
from benchmarks.config import resolve
from benchmarks.report.figures import FIGURES, calibration, cost, headline, risk_groups, search, simulation
from benchmarks.report.figures.scale import limits
from benchmarks.report.figures.style import LOOKS, Drawing, NothingToDraw, freeze, look, styled
from benchmarks.report.figures.view import View
from benchmarks.results.folder import read_results
from benchmarks.results.names import model_label, model_order
from benchmarks.results.published import published_cells


def view(folder: Path) -> View:
    return View(read_results(folder), published_cells())


def add_simulation(folder: Path, repetitions: int = 2) -> None:
    """Curves of the right shape, crossing at 0.9 and 1.1, without training anything."""
    from benchmarks.data import simulated
    from benchmarks.study.simulation import TIMES, save

    true = {
        "survival": np.stack([simulated.survival(g, TIMES) for g in (0, 1)]),
        "hazard": np.stack([simulated.hazard(g, TIMES) for g in (0, 1)]),
    }
    for repetition in range(1, repetitions + 1):
        found = {
            "survival_error": [0.01, 0.02 * repetition],
            "hazard_error": [0.1, 0.1],
            "crossing": 0.7 + 0.2 * repetition,
        }
        arrays = {"times": TIMES, "survival_km": true["survival"]}
        arrays |= {f"{k}_true": v for k, v in true.items()}
        arrays |= {f"{k}_{m}": v * 0.98**repetition for k, v in true.items() for m in ("soden", "deephit")}
        meta = {
            "n": 500,
            "repetition": repetition,
            "models": {"soden": found, "deephit": {**found, "crossing": np.nan}},
        }
        save(folder / "simulation" / f"{repetition}.npz", arrays, meta)


@pytest.fixture(scope="session")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SUPPORT as it is, and MIMIC synthetic, where Cox-Time diverges in every trial; METABRIC could not be had."""
    folder = tmp_path_factory.mktemp("run")
    write_run(folder, {"support": "", "mimic": "synthetic"}, failed="cox_time")
    add_simulation(folder)
    (folder / "data").mkdir()
    (folder / "data" / "metabric.json").write_text(json.dumps({"dataset": "metabric", "available": False, "why": "x"}))
    return folder


@pytest.fixture(scope="session")
def run(fake: Path) -> View:
    return view(fake)


@pytest.fixture(scope="session")
def drawings(run: View) -> dict[str, Drawing]:
    """All figures of the invented run."""
    with styled():
        found = [d for m in (headline, simulation, risk_groups, calibration, search, cost) for d in m.draw(run)]
    return {drawing.name: drawing for drawing in found}


def texts(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in figure.findobj(Text)).replace("\n", " ")


def renderer_of(figure: Figure) -> RendererAgg:
    """Texts remember the renderer of the last file written, whose resolution is another."""
    return FigureCanvasAgg(figure).get_renderer()


def test_every_figure_says_what_it_shows_and_is_made_from(fake: Path, drawings: dict[str, Drawing]) -> None:
    kinds = ("calibration_mimic", "calibration_support", "search_mimic", "search_support")
    assert list(drawings) == ["headline", "simulation", "risk_groups", *kinds, "cost"]
    for drawing in drawings.values():
        assert drawing.caption
        assert drawing.alt
        for source in drawing.sources:
            assert (fake / source).exists() or source == "scores/mimic/cox_time.json", source


def test_marked_data_are_marked_in_every_figure(drawings: dict[str, Drawing]) -> None:
    for name in ("headline", "risk_groups", "cost", "calibration_mimic", "search_mimic"):
        assert texts(drawings[name].figure).count("SYNTHETIC DATA") == 1, name
    for name in ("simulation", "calibration_support", "search_support"):
        assert "SYNTHETIC" not in texts(drawings[name].figure), name


def test_what_failed_is_named(run: View, drawings: dict[str, Drawing]) -> None:
    assert run.absent("mimic") == {"cox_time": "failed"}
    assert run.absent("support") == {}
    said = run.absences()
    assert said == "Absent: Cox-Time (failed) on MIMIC. Data not available to this run: METABRIC."
    for name in ("headline", "cost"):
        assert "Cox-Time (failed) on MIMIC" in drawings[name].caption
    assert "Absent: Cox-Time (failed)" in drawings["calibration_mimic"].caption
    assert "all trials failed" in texts(drawings["search_mimic"].figure)
    assert "One trial or none per split: Cox." in drawings["search_support"].caption
    assert "Cox-Time" not in run.absences(["soden"])


def test_incomplete_models_are_named(tmp_path: Path, fake: Path) -> None:
    shutil.copytree(fake, tmp_path / "run")
    cells = pd.read_csv(tmp_path / "run" / "cells.csv", dtype={"g_tau": str})
    some = (cells["model"] == "deephit") & (cells["dataset"] == "support")
    cells.loc[some, ["status", "n_splits"]] = ["partial", 2]
    cells.to_csv(tmp_path / "run" / "cells.csv", index=False)
    said = view(tmp_path / "run").absences()
    assert "Incomplete: DeepHit on SUPPORT (2 of 3 splits)." in said


def hollow(axes: Axes) -> list[Line2D]:
    return [line for line in axes.lines if line.get_markerfacecolor() == "white"]


def test_a_model_far_off_does_not_flatten_the_headline() -> None:
    """Five models within .02 of each other and one .6 away: limits are those of the five, error bars included."""
    means = {"a": 0.60, "b": 0.61, "c": 0.62, "d": 0.61, "e": 0.60, "kaplan_meier": 0.0}
    mean = pd.Series(means)
    assert limits(mean, mean - 0.01, mean + 0.01) == pytest.approx((0.59, 0.63))
    mean = mean.drop("kaplan_meier")
    assert limits(mean, mean - 0.01, mean + 0.01) == pytest.approx((0.59, 0.63))
    near = pd.Series([-0.3117, -0.3120, -0.3233])  # the third is far from two that all but agree, and within their bars
    assert limits(near, near - 0.02, near + 0.02) == pytest.approx((-0.3433, -0.2917))
    spread = pd.Series([0.1, 0.2, 0.3, 0.9])
    assert limits(spread, spread, spread) == pytest.approx((0.1, 0.9))  # wide is not far


def test_headline_shows_ours_and_the_published(run: View, drawings: dict[str, Drawing], tmp_path: Path) -> None:
    figure = drawings["headline"].figure
    panel = figure.axes[3 * run.datasets.index("support")]
    dots = {
        (round(float(line.get_ydata()[0])), line.get_markerfacecolor() == headline.LIGHT): float(line.get_xdata()[0])
        for line in panel.lines
        if len(line.get_xdata()) == 1 and line.get_marker() not in ("", "None")
    }
    models = run.models("support")
    cells = run.cells.query("dataset == 'support' and metric == 'ctd' and g_tau == '1e-8'").set_index("model")["mean"]
    for model, mean in cells.items():
        assert dots[models.index(model), False] == pytest.approx(mean)
    # The paper's table: SODEN's C^td on SUPPORT is 0.627.
    assert dots[models.index("soden"), True] == 0.627
    assert not hollow(figure.axes[3 * run.datasets.index("mimic")])  # synthetic data stand alone
    write_run(tmp_path, {"flchain": ""}, splits=1)
    with styled():
        alone = headline.draw(view(tmp_path))[0]
    assert not hollow(alone.figure.axes[0])  # as do data sets the paper does not have
    assert "published" not in texts(alone.figure)
    assert "FLCHAIN: 1 split, 6 trials each" in texts(alone.figure)


def test_expected_best_is_the_mean_over_all_subsets() -> None:
    scores = np.array([0.3, -1.0, 2.0, 0.7, 0.1])
    expected = [np.mean([max(c) for c in itertools.combinations(scores, k)]) for k in range(1, 6)]
    np.testing.assert_allclose(search.expected_best(scores), expected, rtol=1e-12)


def test_expected_best_leaves_out_draws_without_a_score() -> None:
    scores = np.array([0.3, np.nan, 2.0, np.nan, 0.1])
    expected = []
    for k in range(1, 6):
        best = [np.nanmax(c) for c in itertools.combinations(scores, k) if np.isfinite(c).any()]
        expected.append(np.mean(best))
    np.testing.assert_allclose(search.expected_best(scores), expected, rtol=1e-12)
    assert np.isnan(search.expected_best(np.array([np.nan, np.nan]))).all()


def test_expected_best_of_many_trials_stays_exact() -> None:
    # Scores 1..n: the expected maximum of k of n is k (n + 1) / (k + 1).
    n = 1000
    k = np.arange(1, n + 1)
    np.testing.assert_allclose(search.expected_best(np.arange(1.0, n + 1)), k * (n + 1) / (k + 1), rtol=1e-10)


def test_search_bands_show_the_search_not_the_level_of_the_splits() -> None:
    trials = pd.DataFrame(
        [(split, trial, "ok", 10.0 * split + trial) for split in (1, 2) for trial in range(3)],
        columns=["split", "trial", "status", "score"],
    )
    found = search.curves(trials)
    # Both splits gain alike, so the curves coincide; the last value is the mean of the bests 12 and 22.
    np.testing.assert_allclose(found[0], found[1])
    assert found[0, -1] == pytest.approx(17)
    assert found[0, 0] == pytest.approx(16)  # a single trial is one below the best of three, on average


def test_calibration_matches_splits_by_quartile() -> None:
    def row(split: int, horizon: float, group: int, observed: float) -> dict[str, float]:
        return {
            "split": split,
            "horizon": horizon,
            "group": group,
            "predicted": 0.5,
            "observed": observed,
            "standard_error": 0.07,
        }

    rows = [row(1, 1.0, 1, 0.4), row(1, 2.0, 1, 0.1), row(2, 1.5, 1, 0.6), row(2, 2.5, 1, float("nan"))]
    frame = calibration.by_decile(rows).set_index("rank")
    assert frame.loc[1, "observed"] == pytest.approx(0.5)
    assert frame.loc[1, "time"] == pytest.approx(1.25)
    assert frame.loc[1, "spread"] == pytest.approx(np.std([0.4, 0.6], ddof=1))
    assert frame.loc[2, "observed"] == pytest.approx(0.1)  # the other split's follow-up ended before
    assert frame.loc[2, "spread"] == 0.07


def test_pareto_front() -> None:
    seconds = pd.Series([1.0, 2.0, 3.0, 4.0, 2.0])
    good = pd.Series([0.5, 0.7, 0.6, 0.9, 0.8])
    assert cost.pareto(seconds, good) == [0, 4, 3]


THREE = ("cox", "mine", "soden")  # one of them is nobody's
ALL = tuple(model_order(resolve({"tier": "beyond"}).models))
OTHERS = {"flchain": "", "gbsg2": "demo", "aids": ""}  # sets that the paper does not have


@pytest.fixture(scope="module", params=[THREE, MODELS, ALL], ids=len)
def crowd(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], list[Drawing]]:
    """All figures of 3, 8 and 14 models; Kaplan-Meier's C, 0, is far from all others."""
    folder = write_run(tmp_path_factory.mktemp("crowd"), OTHERS, models=request.param)
    add_simulation(folder)
    drawn = []
    for name in FIGURES:
        with styled(), contextlib.suppress(NothingToDraw):
            drawn += import_module(f"benchmarks.report.figures.{name}").draw(view(folder))
    for drawing in drawn:
        with styled():
            freeze(drawing.figure)
    return set(request.param), drawn


def visible_texts(figure: Figure) -> list[Text]:
    """What is drawn: not the texts of hidden panels, nor ticks outside the limits."""
    unseen = {label for axes in figure.axes for label in undrawn_labels(axes)}
    return [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip() and t not in unseen]


def test_no_text_leaves_the_page_or_covers_another(crowd: tuple[set[str], list[Drawing]]) -> None:
    for drawing in crowd[1]:
        renderer, page = renderer_of(drawing.figure), drawing.figure.bbox.padded(1)
        boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in visible_texts(drawing.figure)]
        for text, box in boxes:
            assert page.x0 <= box.x0 < box.x1 <= page.x1, (drawing.name, text)
            assert page.y0 <= box.y0 < box.y1 <= page.y1, (drawing.name, text)
        for (one, a), (two, b) in itertools.combinations(boxes, 2):
            assert not a.padded(-1).overlaps(b.padded(-1)), (drawing.name, one, two)


@pytest.mark.parametrize("name", ["reference", "beyond"])
def test_nor_does_it_in_the_figures_of_the_kept_runs(name: str) -> None:
    """Real numbers crowd at other places than invented ones."""
    run, drawn = view(ROOT / "results" / name), []
    for kind in FIGURES:
        with styled(), contextlib.suppress(NothingToDraw):
            drawn += import_module(f"benchmarks.report.figures.{kind}").draw(run)
    for drawing in drawn:
        with styled():
            freeze(drawing.figure)
    assert len(drawn) >= 14
    test_no_text_leaves_the_page_or_covers_another((set(), drawn))


def test_every_model_is_seen_in_every_figure(crowd: tuple[set[str], list[Drawing]]) -> None:
    models, drawn = crowd
    kinds = dict.fromkeys(("headline", "calibration", "cost", "critical_difference", "heat_map"), models)
    kinds |= {"differences": models - {"soden"}, "search": models - {"cox"}}  # SODEN to itself, one trial
    assert {d.name.removesuffix(f"_{s}") for d in drawn for s in ("", *OTHERS)} >= {*kinds, "simulation", "risk_groups"}
    for drawing in drawn:
        for kind, wanted in kinds.items():
            if not drawing.name.startswith(kind):
                continue
            written = " ".join(text.get_text() for text in visible_texts(drawing.figure)) + " "
            assert {m for m in wanted if f"{model_label(m)} " not in written} == set(), drawing.name
            panels = drawing.figure.axes if kind in ("headline", "cost", "differences") else []
            for panel in (axes for axes in panels if axes.get_visible()):
                renderer = renderer_of(drawing.figure)
                marks = {artist.get_gid(): artist.get_window_extent(renderer) for artist in panel.get_children()}
                seen = {model for model, box in marks.items() if model and panel.bbox.overlaps(box)}
                assert seen == wanted, drawing.name


def test_published_models_that_were_not_run_do_not_stretch_the_headline(tmp_path: Path) -> None:
    """Two models of eight on SUPPORT: the axis ends where these and their published values do."""
    folder = write_run(tmp_path / "run", {"support": ""}, models=("cox", "soden"))
    with styled():
        panel = headline.draw(view(folder))[0].figure.axes[1]
    cells = pd.concat([view(folder).cells, view(folder).published])
    rows = cells.query("dataset == 'support' and metric == 'ibll' and g_tau == '1e-8' and model in ('cox', 'soden')")
    ends = (rows["mean"] - rows["standard_error"]).min(), (rows["mean"] + rows["standard_error"]).max()
    margin = 0.05 * (ends[1] - ends[0])
    assert panel.get_xlim() == pytest.approx((ends[0] - margin, ends[1] + margin))


def undrawn_labels(axes: Axes) -> list[Text]:
    """Texts that exist but are not drawn: those of hidden panels and of ticks outside the limits."""
    if not axes.get_visible():
        return axes.findobj(Text)
    found = []
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        drawn = [tick for tick in ticks if axes.axison and low <= tick.get_loc() <= high]
        found += [t for tick in ticks if tick not in drawn for t in (tick.label1, tick.label2)]
    return found


def test_metabric_is_drawn_in_years(tmp_path: Path) -> None:
    """Its times are months / 365.25: 0.8 is 24.35 years, and the axis ends at 5 * 365.25 / 12."""
    folder = write_run(tmp_path / "run", {"metabric": "", "support": ""}, models=("soden",))
    with styled():
        curves = risk_groups.draw(view(folder))[0].figure.axes
        deciles = calibration.draw(view(folder))[1].figure
    for panel, factor in zip(curves, (1.0, 365.25 / 12), strict=True):  # SUPPORT comes first
        assert panel.get_xlabel() == "time (years)"
        assert panel.get_xlim() == pytest.approx((0, 5 * factor))
        assert panel.lines[0].get_xdata()[0] == pytest.approx(0.8 * factor)
    assert "t = 24 years (median)" in texts(deciles)
    assert not any("365.25" in texts(panel.figure) for panel in curves)


def test_simulation_says_where_curves_cross(run: View, drawings: dict[str, Drawing]) -> None:
    metas = [meta for _, meta in run.simulations()]
    # 0.9 and 1.1: mean 1, sd sqrt(0.02) = 0.14
    assert simulation.crossing_text(metas, "soden") == "curves cross at t = 1.00 ± 0.14"
    assert simulation.crossing_text(metas, "deephit") == "curves do not cross"
    assert simulation.crossing_text(metas[:1], "soden") == "curves cross at t = 0.90"
    caption = drawings["simulation"].caption
    assert "over 2 independent draws of n = 500" in caption
    assert "0.0100 (x = 0) and 0.0300 (x = 1), at worst 0.0400" in caption


def test_risk_groups_say_p_and_on_how_many_splits(drawings: dict[str, Drawing]) -> None:
    said = drawings["risk_groups"].caption
    assert "SUPPORT: log-rank p < 0.001; < 0.001 on 2 of 3 splits" in said
    found = [{"split": 2, "p_value": 0.0312}, {"split": 3, "p_value": 1e-5}]
    assert risk_groups.summary(found) == "log-rank p = 0.031 (split 2); < 0.001 on 1 of 2 splits"
    assert risk_groups.summary([]) == "no fitted model"


def test_verb_writes_what_it_can_and_names_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = dict(mpl.rcParams)
    write_run(tmp_path / "run", {"flchain": ""}, splits=1, trials=1)
    shutil.rmtree(tmp_path / "run" / "scores")
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    for name in ("a", "b"):
        assert command.run(parser.parse_args([str(tmp_path / "run"), "figures", "--out", str(tmp_path / name)])) == 0
    assert dict(mpl.rcParams) == before  # drawing leaves matplotlib as it was
    out = capsys.readouterr().out
    assert "not drawn: simulation: no repetition of the simulation study in run\n" in out
    assert "not drawn: risk_groups: SODEN was not evaluated on any data set" in out
    assert "not drawn: search: no model of this run was searched with more than one trial" in out
    assert "not drawn: calibration: no model of this run has calibration rows" in out
    files = sorted(p.name for p in (tmp_path / "a" / "figures").iterdir())
    drawn = ("cost", "differences_flchain", "headline", "heat_map")
    assert files == sorted([*(f"{name}.{kind}" for name in drawn for kind in ("pdf", "png")), "index.json"])
    for name in files:
        one, two = ((tmp_path / run / "figures" / name).read_bytes() for run in ("a", "b"))
        assert one == two, name
    index = json.loads((tmp_path / "a" / "figures" / "index.json").read_text(encoding="utf-8"))
    absent = {"simulation", "risk_groups", "calibration", "search", "enough", "critical_difference", "deviations"}
    assert set(index["absent"]) == absent
    assert next((f["name"], f["files"]) for f in index["figures"]) == ("headline", ["headline.pdf", "headline.png"])
    pdf = (tmp_path / "a" / "figures" / "headline.pdf").read_bytes()
    assert b"/FontFile2" in pdf  # TrueType, embedded
    assert b"/Type3" not in pdf
    assert b"/CreationDate" not in pdf


def test_looks_differ_in_more_than_colour() -> None:
    assert set(LOOKS) == set(resolve({"tier": "beyond"}).models)
    assert len({style.marker for style in LOOKS.values()}) == len(LOOKS)
    assert len({LOOKS[model].line for model in MODELS}) == len(MODELS)
    assert look("a_new_model") == look("a_new_model")
