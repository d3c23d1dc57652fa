"""The tables that hold no results: data sets, hyper-parameters, related work."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from baselines.space import Choice, Distribution, PerDataset
from benchmarks.report.latex import Style, floating, marks_note, red
from benchmarks.results.names import MODELS, escape, in_order
from benchmarks.results.tidy import require

Spaces = Mapping[str, Mapping[str, Distribution]]  # model -> its search space

DATASET_COLUMNS = (
    *("dataset", "label", "mark", "n", "p", "seq_channels", "seq_steps", "censoring_rate"),
    *("censored_mean", "censored_median", "observed_mean", "observed_median"),
)
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
DATASETS_HEAD = r"""\multirow{2}{1.0cm}{Dataset} & \multirow{2}{0.6cm}{N} & \multirow{2}{0.3cm}{p} & """ + (
    r"""\multirow{2}{1.5cm}{Censoring rate} & \multicolumn{2}{c}{Censored time \small{(Yrs)}} & """
    r"""\multicolumn{2}{c}{Observed time \small{(Yrs)}} \\
\cmidrule(r){5-8}
 & & & & Mean & Median & Mean & Median \\
\midrule
"""
)
MIMIC_SEQ_NOTE = (
    r" MIMIC-SEQ uses $5$ time-static features and $15$ time series features within the first $24$ hours "
    "after admission."
)
HYPER_CAPTION = "Tuning ranges of hyperparameters for experiments on the real-world datasets."
# The paper's rows in its order; MODELS stands for those that search the row where not all do.
HYPER_PARAMETERS = {
    "layers": "Number of dense hidden layers",
    "width": "Number of neurons in each dense hidden layer",
    "gru_width": "Number of neurons in each GRU hidden layer",
    "lr": "Learning rate",
    "weight_decay": "Weight decay",
    "momentum": "Momentum",
    "dropout": "Dropout",
    "batch_norm": "Batch normalization",
    "alpha": r"$\alpha$ (Surrogate ranking loss in MODELS)",
    "sigma": r"$\sigma$ (Surrogate ranking loss in MODELS)",
}
HYPER_MODELS = ("deephit", "deepsurv", "nnet_survival", "cox_time")  # the order the paper names them in
ANSWERS = {"yes": r"\cmark", "no": r"\textcolor{gray}{\xmark}", "unclear": "?"}
RELATED_COLUMNS = ("non_linear", "no_ph_assumption", "continuous_time", "sgd")
# Belongs after the table, in the text; the float itself holds only its mark.
RELATED_FOOTNOTE = (
    r"\footnotetext[1]{SGD algorithms for Cox, DeepSurv, and Cox-Time can be naively implemented in practice, but not "
    r"theoretically justifiable due to the form of the objective functions.}"
)


def render_datasets(datasets: pd.DataFrame, style: Style) -> str:
    """Sizes, censoring and times; a series version of the data set above it prints its features only."""
    require(datasets, DATASET_COLUMNS, "data set summaries")
    lines, n_distinct, previous = [], 0, None
    for row in datasets.to_dict("records"):
        same_subjects = previous is not None and bool(row["seq_channels"]) and row["n"] == previous["n"]
        lines.append(_dataset_line(row, style, same_subjects))
        n_distinct += not same_subjects
        previous = row
    count = COUNTS[n_distinct] if n_distinct < len(COUNTS) else str(n_distinct)
    caption = f"Summary statistics of {count} dataset{'s' * (n_distinct != 1)}. $N$ is the sample size and $p$ is the "
    caption += "number of features." + (MIMIC_SEQ_NOTE if "mimic_seq" in set(datasets["dataset"]) else "")
    caption += marks_note(datasets["dataset"], style)
    body = DATASETS_HEAD + "\n".join(lines)
    return floating(body, "lrcccccc", caption, "Table: datasets", place="", kind="table*")


def _dataset_line(row: Mapping[str, Any], style: Style, same_subjects: bool) -> str:
    name = style.dataset(row["dataset"])
    features = str(row["p"])
    if row["seq_channels"]:
        features = rf"{row['p']}+{row['seq_channels']}$\times${row['seq_steps']}"
    mark = style.marks.get(row["dataset"])
    suffix = " " + red(f"({escape(mark)})") if mark else ""
    if same_subjects:
        return rf"\small{{({name})}}{suffix} & & \multirow{{1}}{{1.3cm}}{{({features})}} & & & & & \\"
    times = (row[f"{kind}_{what}"] for kind in ("censored", "observed") for what in ("mean", "median"))
    rate = rf"{100 * row['censoring_rate']:.0f}\%"
    values = [f"{row['n']:,}", features, rate, *("--" if math.isnan(t) else f"{t:.2f}" for t in times)]
    return rf"\small{{{name}}}{suffix} & " + " & ".join(values) + r" \\"


def printed_range(distribution: Distribution) -> str:
    """As the paper prints it; a choice with words in it, which the paper has none of, value by value."""
    if not isinstance(distribution, Choice) or not any(isinstance(v, str | None) for v in distribution.values):
        return distribution.latex()
    texts = (
        rf"\text{{{escape(str(v))}}}" if isinstance(v, str | bool | None) else f"{v:g}" for v in distribution.values
    )
    return r"$\{" + ", ".join(texts) + r"\}$"


def hyper_parameter_rows(spaces: Spaces, style: Style) -> pd.DataFrame:
    """One row per hyper-parameter and range of the paper's models: parameter, label, range, models.

    What the data set decides is left out.
    """
    searched = {name: space for name, space in spaces.items() if space and name in MODELS}
    rows = []
    for key in in_order([key for space in searched.values() for key in space], list(HYPER_PARAMETERS)):
        ranges: dict[str, list[str]] = {}
        for model in in_order(searched, [*HYPER_MODELS, *MODELS]):
            distribution = searched[model].get(key)
            if distribution is not None and not isinstance(distribution, PerDataset):
                ranges.setdefault(printed_range(distribution), []).append(model)
        for text, models in ranges.items():
            printed = ", ".join(style.model(model) for model in models)
            name = HYPER_PARAMETERS.get(key, escape(key))
            if "MODELS" not in name and len(models) < len(searched):
                name += " (MODELS)"
            rows.append((key, name.replace("MODELS", printed), text, " ".join(models)))
    return pd.DataFrame(rows, columns=["parameter", "label", "range", "models"])


def render_hyper_parameters(spaces: Spaces, style: Style) -> str:
    """The search spaces the models really use, as the paper prints its tuning ranges."""
    rows = hyper_parameter_rows(spaces, style)
    body = "\n".join(rf"{name} & {text} \\" for name, text in zip(rows["label"], rows["range"], strict=True))
    return floating(body, "l|c", HYPER_CAPTION, "table:hp", place="[!h]")


def render_related_work(related: pd.DataFrame, _style: Style | None = None) -> str:
    """What each method can do; the first open question carries the footnote mark of RELATED_FOOTNOTE."""
    lines, noted = [], False
    for row in related.to_dict("records"):
        answers = [ANSWERS[row[column]] for column in RELATED_COLUMNS]
        if row["sgd"] == "unclear" and not noted:
            answers[-1] += r"\footnotemark[1]"
            noted = True
        lines.append(" & ".join([row["label"], *answers]) + r" \\")
    cited = [
        rf"{row['label']}~\citep{{{row['citation']}}}" for row in related.dropna(subset="citation").to_dict("records")
    ]
    caption = (
        f"Comparison between the proposed method, SODEN, and related work, {', '.join(cited[:-1])}, and {cited[-1]}."
    )
    head = r"Model & Non-linear & No PH Assumption & Continuous-time & SGD \\" + "\n\\midrule\n"
    return floating(head + "\n".join(lines), "lcccc", caption, "Table: relatedwork")
