"""The printed names of models, data sets and metrics, and the order in which tables and figures list them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from benchmarks import data, registry
from benchmarks.metrics.base import Metric, metrics

# In the paper's order; the other data sets that come with this project follow.
DATASETS = {
    name: data.module(name).LABEL
    for name in ("mimic_seq", "mimic", "support", "metabric", "simulated", "flchain", "gbsg2", "whas500", "aids")
}
REFERENCE = "soden"  # the model that every other is tested against
VARIANTS = (REFERENCE, "soden_ph", "soden_cox")  # ranked among themselves in the ablation table
# The paper's models, which alone are in its tables.
MODELS = {name: registry.label(name) for name in ("cox", "deepsurv", "cox_time", "nnet_survival", "deephit", *VARIANTS)}
ESCAPES = str.maketrans(
    {letter: f"\\{letter}" for letter in "#$%&_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
)
SUPERSCRIPTS = str.maketrans("abcdehijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")


def in_order(names: Iterable[str], first: Sequence[str], last: Sequence[str] = ()) -> list[str]:
    """The distinct names: those of `first` in its order, others by alphabet, those of `last` at the end."""
    found = set(names)
    middle = sorted(found - set(first) - set(last))
    return [*(n for n in dict.fromkeys(first) if n in found), *middle, *(n for n in last if n in found)]


def model_order(names: Iterable[str]) -> list[str]:
    """The order of the main tables: the paper's baselines, other models, SODEN last."""
    return in_order(names, [name for name in MODELS if name not in VARIANTS], VARIANTS)


def model_label(name: str) -> str:
    """The printed name of a model; its key if this checkout does not have the model."""
    return registry.label(name) if name in registry.names() else name


def dataset_label(name: str) -> str:
    """The printed name of a data set; its key if this checkout does not have it."""
    return data.module(name).LABEL if name in data.names() else name


def is_searched(model: str) -> bool:
    """Whether the model has hyper-parameters to search; one that is not in this checkout is thought to have."""
    return model not in registry.names() or registry.is_searched(model)


def selected_by(model: str) -> str:
    """What a model's trials are compared by."""
    return registry.selected_by(model) if model in registry.names() else "loss"


def metric(name: str) -> Metric | None:
    """The metric of that name, if this checkout has it."""
    return metrics().get(name)


def metric_label(name: str) -> str:
    """The printed name of a metric as plain text: Cᵗᵈ for the label $C^{td}$."""
    found = metric(name)
    text = found.label if found else name
    return re.sub(r"\^\{(\w+)\}", lambda up: up[1].translate(SUPERSCRIPTS), text).replace("$", "")


def metric_at_tau(name: str) -> str:
    """The name of a metric in figures, with tau if it is truncated: $C^{td}_\\tau$, IBS$_\\tau$, NLL."""
    found = metrics()[name]
    if not found.truncated:
        return found.label
    return rf"{found.label[:-1]}_\tau$" if found.label.endswith("$") else rf"{found.label}$_\tau$"


def higher_is_better(name: str) -> bool:
    """The direction of a metric."""
    found = metric(name)
    if found is None:
        raise ValueError(f"unknown metric {name!r}; choose among {', '.join(metrics())}")
    return found.higher_is_better


def better(name: str) -> str:
    """The direction in words: "higher" or "lower"."""
    return "higher" if higher_is_better(name) else "lower"


def escape(text: str) -> str:
    """A name or unit as LaTeX text."""
    return text.translate(ESCAPES)
