"""Fitted estimators on disk: tensors and plain containers alone, so that reading a file runs nothing in it."""

from __future__ import annotations

import hashlib
import io
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch

from soden import __version__
from soden.clock import Clock
from soden.inputs import Scaling
from soden.types import FitReport

if TYPE_CHECKING:
    from soden.estimator import SODEN
    from soden.hazard import Hazard

Estimator = TypeVar("Estimator", bound="SODEN")

FORMAT = 2  # counts up when an older `load` could no longer read what `save` writes; all up to it are read
MARK = b"\nsha256 "  # after torch's bytes, before their digest; soden 1 wrote none


def write(path: str | Path, state: dict[str, Any]) -> None:
    """To a file, through memory: on a full disk torch's own writer fails with a riddle, a plain write says why."""
    buffer = io.BytesIO()
    torch.save(state | {"format": FORMAT}, buffer)
    content = buffer.getvalue()
    Path(path).write_bytes(content + MARK + hashlib.sha256(content).hexdigest().encode())


def read(path: str | Path, owner: str) -> dict[str, Any]:
    """What `owner.save` wrote; anything else is refused in our words, for torch's advise to turn safety off."""
    whole = Path(path).read_bytes()  # no such file: Python's own words
    content, mark, digest = whole.rpartition(MARK)
    try:
        if mark and hashlib.sha256(content).hexdigest().encode() != digest:
            raise ValueError("a bit was flipped")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's, about files that are refused below
            state: dict[str, Any] = torch.load(io.BytesIO(content or whole), map_location="cpu", weights_only=True)
    except Exception:  # torch and pickle raise many kinds
        raise ValueError(
            f"{path} is not a file that {owner}.save wrote, or it is damaged or cut off ({len(whole):,} bytes). "
            "Nothing in it was run. Copy it again, or save the model again"
        ) from None  # a traceback would show torch's advice after all
    kind = state.get("estimator") if isinstance(state, dict) else None
    if kind != owner:
        raise ValueError(f"{path} holds {kind or 'no saved estimator'}; {owner}.load cannot read it")
    if state.get("format") not in range(1, FORMAT + 1):
        raise ValueError(
            f"{path} was saved in format {state.get('format')}, this soden reads 1 to {FORMAT}; take a newer one"
        )
    return state


def plain(values: dict[str, Any]) -> dict[str, Any]:
    """Python's numbers in place of numpy's, which searches set as parameters: a saved file holds nothing else."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}


def state_of(estimator: SODEN) -> dict[str, Any]:
    """Everything `restored` needs of a fitted estimator."""
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "estimator": type(estimator).__name__,
        "version": __version__,
        "params": plain(estimator.get_params()) | {"hazard": None},
        "hazard": None if estimator.hazard is None else estimator.hazard.__name__,
        "models": [model.state() for model in estimator.models_],
        "reports": [asdict(report) for report in estimator.reports_],
        "scalings": [([part.tolist() for part in one.moments()], one.clock.state()) for one in estimator.scalings_],
        "names": None if names is None else names.tolist(),
        "counts": (estimator.n_samples_, estimator.n_events_),
        "horizon": estimator.horizon_,
        "start": estimator.start_,
        "risk_times": estimator.risk_times_.tolist(),
        "unique_times": estimator.unique_times_.tolist(),
        "ranges": estimator.ranges_.tolist() if hasattr(estimator, "ranges_") else None,  # soden 1 kept none
    }


def restored(path: str | Path, cls: type[Estimator], hazard: type[Hazard] | None = None) -> Estimator:
    """The estimator that was saved, on the CPU; with the hazard it was fitted with, if that was the user's own."""
    state = read(path, cls.__name__)
    fitted = state.get("hazard")
    if fitted != (None if hazard is None else hazard.__name__):
        raise ValueError(
            f"{path} was fitted with hazard={fitted}: load it with {cls.__name__}.load(path, hazard={fitted})"
        )
    try:
        return _rebuilt(state, cls, hazard)
    except Exception as error:  # whatever is missing, of another kind or of another shape
        raise ValueError(
            f"{path} was saved by soden {state.get('version', 'of unknown version')} and cannot be read by this, "
            f"{__version__} ({type(error).__name__}: {error}). Load it with that version, or fit again"
        ) from None


def _rebuilt(state: dict[str, Any], cls: type[Estimator], hazard: type[Hazard] | None) -> Estimator:
    linear = {"time_scale": "linear"} if state["format"] == 1 else {}  # of soden 1, which had no other
    estimator = cls(**state["params"] | linear)
    estimator.hazard, kind = hazard, cls._model_class
    if hazard is not None:
        kind = type(hazard.__name__, (kind,), {"hazard_class": hazard})
    weights = [tensor for model in state["models"] for tensor in model["weights"].values()]
    if not all(bool(tensor.isfinite().all()) for tensor in weights):
        raise ValueError("its weights are not all finite")
    estimator.models_ = [kind.from_state(model) for model in state["models"]]
    estimator.scalings_ = []
    estimator.reports_ = [FitReport(**report) for report in state["reports"]]
    for moments, clock in state["scalings"]:
        x_mean, x_std, seq_mean, seq_std = (np.array(part) for part in moments)
        kept = Clock.linear(clock) if state["format"] == 1 else Clock.from_state(clock)
        estimator.scalings_.append(Scaling(x_mean, x_std, seq_mean, seq_std, kept))
    estimator._set_names(state["names"])
    estimator.n_features_in_ = len(estimator.scaling_.x_mean)
    estimator.n_samples_, estimator.n_events_ = state["counts"]
    estimator.horizon_, estimator.risk_times_ = state["horizon"], np.array(state["risk_times"])
    estimator.start_ = state.get("start", 0.0)
    estimator.unique_times_ = np.array(state["unique_times"])
    if state.get("ranges") is not None:
        estimator.ranges_ = np.array(state["ranges"])
    return estimator
