"""How names are printed, and in which order: the paper's labels and order first, everything else after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

DATASETS = {
    "mimic_seq": "MIMIC-SEQ",
    "mimic": "MIMIC",
    "support": "SUPPORT",
    "metabric": "METABRIC",
    "simulated": "SIMULATED",
    "flchain": "FLCHAIN",
    "gbsg2": "GBSG2",
    "whas500": "WHAS500",
    "aids": "AIDS",
}
# The paper's models, which alone are in its tables.
MODELS = {
    "cox": "Cox",
    "deepsurv": "DeepSurv",
    "cox_time": "Cox-Time",
    "nnet_survival": "Nnet-Survival",
    "deephit": "DeepHit",
    "soden": "SODEN",
    "soden_ph": "SODEN-PH",
    "soden_cox": "SODEN-Cox",
}
# The competitors it left out; as their classes say it, which this package does not import.
BEYOND = {
    "kaplan_meier": "Kaplan-Meier",
    "random_forest": "RSF",
    "gradient_boosting": "GBM",
    "mtlr": "MTLR",
    "pc_hazard": "PC-Hazard",
    "sumo_net": "SuMo-net",
}
ESCAPES = str.maketrans(
    {letter: f"\\{letter}" for letter in "#$%&_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
)
TRUNCATION_ORDER = ("1e-8", "0.2", "0.4")


def in_order(names: Iterable[str], first: Sequence[str], last: Sequence[str] = ()) -> list[str]:
    """The distinct names: those of `first` in its order, others by alphabet, those of `last` at the end."""
    found = set(names)
    middle = sorted(found - set(first) - set(last))
    return [*(n for n in dict.fromkeys(first) if n in found), *middle, *(n for n in last if n in found)]


def model_order(names: Iterable[str]) -> list[str]:
    """The order of the main tables: the paper's baselines, other models, SODEN last."""
    baselines = [name for name in MODELS if not name.startswith("soden")]
    return in_order(names, [*baselines, *BEYOND], ["soden", "soden_ph", "soden_cox"])


def escape(text: str) -> str:
    """A name or unit as LaTeX text."""
    return text.translate(ESCAPES)


def label(name: str, *known: Mapping[str, str]) -> str:
    """The first printed label found, or the name itself, safe for LaTeX."""
    return next((escape(labels[name]) for labels in known if name in labels), escape(name))
