"""The table writer against the paper's own LaTeX, and what it says when results are few, failed or not real.

tests/golden holds the writer's output for the published cells, checked equal to the tables in the paper's LaTeX source
(white space apart), so that the comparison also runs where that source is not at hand.
"""

import argparse
import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import ROOT, beside
from support.run_folder import write_run

from baselines.space import Choice, PerDataset, Uniform
from benchmarks.commands import report as command
from benchmarks.report import pdf
from benchmarks.report.latex import Style, truncation
from benchmarks.report.other_tables import printed_range, render_hyper_parameters
from benchmarks.report.tables import contents, render, twin, write_tables
from benchmarks.results.names import escape
from benchmarks.results.published import published_cells, published_datasets, related_work
from benchmarks.results.statistics import summarise

# Our name of each table, and its \label in the paper.
LABELS = {
    "mimic_seq": "tab:MIMIC-SEQ",
    "mimic": "tab:MIMIC",
    "support": "tab:SUPPORT",
    "metabric": "tab:METABRIC",
    "ablation": "tab:ablation",
    "datasets": "Table: datasets",
    "related_work": "Table: relatedwork",
    "hyper_parameters": "table:hp",
}


def normalised(latex: str) -> str:
    """One space for any white space, none around & and the row end, where LaTeX ignores it."""
    return re.sub(r"\s*(&|\\\\)\s*", r"\1", re.sub(r"\s+", " ", latex)).strip()


def published() -> dict[str, Any]:
    return contents(published_cells(), published_datasets(), command.search_spaces())


def test_published_cells_render_as_the_papers_latex() -> None:
    source = beside("../paper/soden-paper.tex").read_text()
    floats = re.findall(r"\\begin\{table\*?\}.*?\\end\{table\*?\}", source, re.DOTALL)
    for table, label in LABELS.items():
        [paper] = [text for text in floats if rf"\label{{{label}}}" in text]
        assert normalised(render(published()[table], table)) == normalised(paper), table


@pytest.mark.parametrize("table", LABELS)
def test_published_cells_render_as_the_committed_latex(table: str) -> None:
    assert render(published()[table], table) == (ROOT / "tests" / "golden" / f"{table}.tex").read_text()


def test_every_published_table_is_found_in_the_papers_order() -> None:
    order = ["related_work", "datasets", "mimic_seq", "mimic", "support", "metabric", "ablation", "hyper_parameters"]
    assert list(published()) == order


def scores(
    splits: int = 2, dataset: str = "support", models: tuple[str, ...] = ("cox", "deephit", "soden", "soden_ph")
):
    """Scores that rise by 0.001 per split and 0.01 per model."""
    rows = [
        (dataset, model, split, metric, g_tau, start + 0.01 * i + 0.001 * split)
        for i, model in enumerate(models)
        for split in range(1, splits + 1)
        for metric, start in {"ctd": 0.6, "ibll": -0.5, "ibs": 0.1}.items()
        for g_tau in ("1e-8", "0.2")
    ]
    return pd.DataFrame(rows, columns=["dataset", "model", "split", "metric", "g_tau", "value"])


def trials(count: int, splits: int = 2) -> pd.DataFrame:
    rows = [("support", m, s, t) for m in ("deephit", "soden") for s in range(1, splits + 1) for t in range(count)]
    rows += [("support", "cox", s, 0) for s in range(1, splits + 1)]
    return pd.DataFrame(rows, columns=["dataset", "model", "split", "trial"]).assign(status="ok")


def line_of(latex: str, model: str) -> str:
    return next(line for line in latex.splitlines() if f"& {model} &" in line)


def test_failed_missing_and_absent_results_are_said_in_the_table() -> None:
    planned = pd.DataFrame({"dataset": "support", "model": ["deepsurv"], "n_splits": [2]})
    broken = pd.DataFrame(
        {"dataset": "support", "model": "cox_time", "split": 1, "trial": [0, 1], "status": "diverged"}
    )
    latex = render(summarise(scores(), broken, planned=planned), "support")
    assert line_of(latex, "DeepSurv").count("missing") == 3
    assert line_of(latex, "Cox-Time").count("failed") == 3
    ablation = render(summarise(scores(models=("soden", "soden_ph"))), "ablation")
    assert [line.endswith(r"& N/A \\") for line in ablation.splitlines() if "C^{td}$ (" in line] == [True, True]


def test_a_cell_on_fewer_splits_than_planned_says_so() -> None:
    rows = scores(splits=3)
    rows = rows[(rows["model"] != "deephit") | (rows["split"] > 1)]
    latex = render(summarise(rows), "support")
    assert line_of(latex, "DeepHit").count(r"{\scriptsize [2/3]}") == 3
    assert "[" not in line_of(latex, "Cox")
    assert "Brackets: splits out of those planned." in latex


def test_the_caption_says_what_is_below_the_papers_protocol() -> None:
    cells = summarise(scores(splits=2), trials(4))
    assert "Rests on 2 splits and 4 trials per split (paper: 10 splits, 100 trials)." in render(cells, "support")
    assert "Rests on" not in render(summarise(scores(splits=10), trials(100, splits=10)), "support")
    elsewhere = render(summarise(scores(dataset="flchain")), "flchain")
    assert "on FLCHAIN. The notations" in elsewhere
    assert "Rests on 2 splits." in elsewhere


def test_every_cell_can_carry_its_splits_and_trials() -> None:
    latex = render(summarise(scores(splits=2), trials(4)), "support", Style(coverage="cells"))
    assert line_of(latex, "SODEN (ours)").count(r"{\scriptsize [2$\times$4]}") == 3
    assert line_of(latex, "Cox").count(r"{\scriptsize [2]}") == 3  # nothing is searched
    assert "Brackets: splits by trials per split." in latex


def test_one_split_has_no_error_bar_and_zero_has_no_sign() -> None:
    rows = scores(splits=1)
    rows.loc[(rows["model"] == "cox") & (rows["metric"] == "ibll"), "value"] = -0.0001
    latex = render(summarise(rows), "support")
    assert r"$\textbf{0.000} \pm \small{\text{--}}$" in line_of(latex, "Cox")


def test_marked_data_are_marked_in_caption_and_first_column() -> None:
    style = Style(marks={"support": "synthetic"})
    cells = summarise(scores())
    latex = render(cells, "support", style)
    assert r"on SUPPORT \textcolor{red}{(synthetic data)}." in latex
    blocks = latex.count(r"\midrule")
    assert sum(line.startswith(r"\textcolor{red}{(synthetic)} &") for line in latex.splitlines()) == blocks == 2
    one_model = render(summarise(scores(models=("soden",))), "support", style)
    assert r"$10^{-8}$ \textcolor{red}{(synthetic)} & SODEN (ours)" in one_model
    ablation = render(cells, "ablation", style)
    assert r"\textcolor{red}{SUPPORT: synthetic data.}" in ablation
    assert r"\textcolor{red}{(synthetic)} & $C^{td}$" in ablation
    datasets = render(published_datasets(), "datasets", style)
    assert r"\small{SUPPORT} \textcolor{red}{(synthetic)} &" in datasets
    assert r"\textcolor{red}{SUPPORT: synthetic data.}" in datasets


def test_models_beyond_the_papers_are_in_a_table_of_their_own() -> None:
    cells = summarise(scores(models=("soden", "my_net", "random_forest", "cox")))
    assert set(cells.loc[cells["table"] == "main", "model"]) == {"soden", "cox"}
    found = [line.split(" & ")[1] for line in render(cells, "support").splitlines() if line.endswith(r"\\")]
    assert set(found) == {"Model", "Cox", "SODEN (ours)"}
    latex = render(cells, "beyond", Style(labels={"my_net": "My & Net"}))
    found = [line.split(" & ")[1] for line in latex.splitlines() if r"\pm" in line and "caption" not in line]
    assert found == ["Cox", r"My \& Net", "RSF", "SODEN"] * 3
    # Each table ranks its own models: Cox, the last of the four, is best in C^td of both.
    ibs = cells[(cells["metric"] == "ibs") & (cells["model"] == "soden")].groupby("table")["mark"].first()
    assert ibs.to_dict() == {"ablation": "best", "beyond": "best", "main": "best"}
    ctd = cells[(cells["metric"] == "ctd") & (cells["table"] == "main")].groupby("model")["mark"].first()
    assert ctd.to_dict() == {"cox": "best", "soden": "second"}
    ctd = cells[(cells["metric"] == "ctd") & (cells["table"] == "beyond")].groupby("model")["mark"].first()
    assert ctd.to_dict() == {"cox": "best", "random_forest": "second", "my_net": "", "soden": ""}
    assert "beyond" in contents(cells, None, {})
    assert "beyond" not in contents(summarise(scores()), None, {})
    with pytest.raises(ValueError, match="no model was run that is not the paper's"):
        render(summarise(scores()), "beyond")


def test_the_first_table_explains_the_notation_to_the_others() -> None:
    cells = pd.concat([summarise(scores()), summarise(scores(dataset="flchain"))])
    style = Style(notation="support")
    assert "markers denote the best" in render(cells, "support", style)
    assert r"Table~\ref{tab:SUPPORT}" in render(cells, "flchain", style)
    assert r"\label{tab:flchain}" in render(cells, "flchain", style)
    assert r"Table~\ref{tab:SUPPORT}" in render(cells, "ablation", style)


def test_tables_nothing_can_fill_are_errors() -> None:
    with pytest.raises(ValueError, match="no cells for a table of 'metabric'; the cells hold results for: support"):
        render(summarise(scores()), "metabric")
    with pytest.raises(ValueError, match="no cells for the ablation table: it needs nll or ctd of soden"):
        render(summarise(scores(models=("cox",))), "ablation")
    with pytest.raises(ValueError, match="data set summaries lack the columns p"):
        render(published_datasets().drop(columns="p"), "datasets")


def test_data_set_table_without_mimic() -> None:
    latex = render(published_datasets().query("dataset == 'support'"), "datasets")
    assert "Summary statistics of one dataset." in latex
    assert "MIMIC" not in latex
    series_only = render(published_datasets().query("dataset == 'mimic_seq'"), "datasets")
    assert r"\small{MIMIC-SEQ} & 35,304 & 5+15$\times$24 & 61\%" in series_only
    all_events = published_datasets().query("dataset == 'support'").assign(censored_mean=float("nan"))
    assert r"& 32\% & -- & 2.51 &" in render(all_events, "datasets")


def test_hyper_parameters_that_differ_between_models_get_a_row_each() -> None:
    spaces = {
        "soden": {"lr": Uniform(0, 1), "batch_size": PerDataset("batch_size")},
        "deephit": {"lr": Uniform(0, 2), "new_thing": Choice((1, 2))},
        "cox": {},
        "random_forest": {"leaf": Choice((1, 2))},  # not the paper's: its table is of the paper's models
    }
    rows = twin(spaces, "hyper_parameters")
    assert list(rows["label"]) == ["Learning rate (DeepHit)", "Learning rate (SODEN)", r"new\_thing (DeepHit)"]
    assert list(rows["range"]) == ["$[0, 2]$", "$[0, 1]$", r"$\{1, 2\}$"]


@pytest.mark.parametrize(
    ("g_tau", "wanted"), [("1e-8", "$10^{-8}$"), ("0.2", "$0.2$"), ("5e-5", r"$5 \times 10^{-5}$")]
)
def test_truncations_in_mathematics(g_tau: str, wanted: str) -> None:
    assert truncation(g_tau) == wanted


def test_a_choice_among_words_is_printed_word_by_word() -> None:
    """As scikit-learn's max_features; numbers and truth values alone are printed as the paper does."""
    assert printed_range(Choice(("sqrt", 0.5, None))) == r"$\{\text{sqrt}, 0.5, \text{None}\}$"
    assert printed_range(Choice(("log_2", True))) == r"$\{\text{log\_2}, \text{True}\}$"
    for usual in (Choice((0, 0.1, 0.5)), Choice((True, False)), Uniform(0.0, 1.0)):
        assert printed_range(usual) == usual.latex()
    spaces = {"soden": {"max_features": Choice(("sqrt", 0.5))}}
    assert r"$\{\text{sqrt}, 0.5\}$" in render_hyper_parameters(spaces, Style())


def test_names_are_safe_for_latex() -> None:
    assert escape("a_b & 5%") == r"a\_b \& 5\%"
    assert escape(r"x^2~\y") == r"x\textasciicircum{}2\textasciitilde{}\textbackslash{}y"


def test_each_table_has_a_twin_with_the_same_rows(tmp_path: Path) -> None:
    written = write_tables(tmp_path, published(), Style())
    assert written == list(published())
    support = pd.read_csv(tmp_path / "support.csv", dtype={"g_tau": str})
    assert len(support) == 54
    assert support.loc[0, ["model", "metric", "g_tau", "mean"]].tolist() == ["cox", "ctd", "1e-8", 0.596]
    assert len(pd.read_csv(tmp_path / "ablation.csv")) == 44
    assert len(pd.read_csv(tmp_path / "hyper_parameters.csv")) == 10


def run_cli(*argv: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(argv))


def test_verb_writes_everything_from_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores().to_csv(tmp_path / "scores.csv", index=False)
    assert run_cli("--scores", f"{tmp_path}/scores.csv", "--out", f"{tmp_path}/out") == 0
    assert "4 tables" in capsys.readouterr().out
    assert "Rests on 2 splits (paper: 10 splits, 100 trials)." in (tmp_path / "out" / "support.tex").read_text()
    assert {"tests.csv", "cells.csv", "tables.tex", "ablation.csv"} <= {p.name for p in (tmp_path / "out").iterdir()}


def test_verb_reads_the_cells_of_a_run(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    assert run_cli(f"{tmp_path}/run", "tables", "--out", f"{tmp_path}/out") == 0
    again = pd.read_csv(tmp_path / "out" / "tables" / "support.csv", dtype={"g_tau": str})
    cells = pd.read_csv(tmp_path / "run" / "cells.csv", dtype={"g_tau": str})
    wanted = cells[(cells["table"] == "main") & (cells["dataset"] == "support") & (cells["metric"] != "nll")]
    assert sorted(again["mean"]) == sorted(wanted["mean"])


def test_without_latex_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(pdf.LatexError, match=r"no LaTeX found .*apt-get install latexmk"):
        pdf.compile_pdf(tmp_path / "tables.tex")


needs_latex = pytest.mark.skipif(
    not any(map(shutil.which, pdf.COMPILERS)), reason="needs latexmk, tectonic or pdflatex"
)


@needs_latex
def test_published_tables_compile(tmp_path: Path) -> None:
    assert run_cli("--published", "--out", str(tmp_path), "--pdf") == 0
    assert (tmp_path / "tables.pdf").read_bytes().startswith(b"%PDF")
    assert "undefined" not in (tmp_path / "tables.log").read_text()  # references and citations all resolve


@needs_latex
def test_latex_that_does_not_compile_shows_the_log(tmp_path: Path) -> None:
    source = tmp_path / "broken.tex"
    source.write_text(r"\documentclass{article}\begin{document}\nonsense\end{document}")
    with pytest.raises(pdf.LatexError, match=r"could not compile .*broken\.tex; see .*broken\.log"):
        pdf.compile_pdf(source)


def test_missing_published_numbers_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.results.published.FOLDER", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"the published numbers are missing: .*run from a full clone"):
        published_cells()


def test_the_papers_tables_keep_their_numbers() -> None:
    text = pdf.document(["related_work", "support", "metric_uno", "hyper_parameters"], related_work(), "Tables")
    numbers = {name: int(last) + 1 for last, name in re.findall(r"setcounter\{table\}\{(\d+)\}\\input\{(\w+)\}", text)}
    assert list(numbers.items()) == [("related_work", 1), ("support", 5), ("hyper_parameters", 8), ("metric_uno", 9)]
