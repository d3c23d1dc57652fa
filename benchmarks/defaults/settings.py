"""What was tried: the defaults as they were, and what a width, a decay, a rate or several models change."""

from __future__ import annotations

from typing import Any

OLD: dict[str, Any] = {"hidden": 32, "lr": 3e-3, "weight_decay": 1e-6, "batch_size": 64, "patience": 10, "n_models": 1}
TRIED: dict[str, dict[str, Any]] = {
    "old": OLD,
    "small": OLD | {"hidden": 16, "weight_decay": 1e-2},
    "five": OLD | {"n_models": 5},
    "five small": OLD | {"hidden": 16, "weight_decay": 1e-2, "n_models": 5},
    "five small 3e-2": OLD | {"hidden": 16, "weight_decay": 3e-2, "n_models": 5},
    "five wide 1e-2": OLD | {"hidden": 32, "weight_decay": 1e-2, "n_models": 5},
    "five wide 3e-2": OLD | {"hidden": 32, "weight_decay": 3e-2, "n_models": 5},
    "five wide 2e-2": OLD | {"hidden": 32, "weight_decay": 2e-2, "n_models": 5},
    "five wide 2e-2, slow": OLD | {"hidden": 32, "weight_decay": 2e-2, "n_models": 5, "lr": 1e-3, "patience": 20},
    "five wide 2e-2, auto batch": OLD | {"hidden": 32, "weight_decay": 2e-2, "n_models": 5, "batch_size": "auto"},
    "five wide 1e-2, auto batch": OLD | {"hidden": 32, "weight_decay": 1e-2, "n_models": 5, "batch_size": "auto"},
    "five small, slow": OLD | {"hidden": 16, "weight_decay": 1e-2, "n_models": 5, "lr": 1e-3, "patience": 20},
    "five small, fast": OLD | {"hidden": 16, "weight_decay": 1e-2, "n_models": 5, "lr": 1e-2},
    "five small, patient": OLD | {"hidden": 16, "weight_decay": 1e-2, "n_models": 5, "patience": 20},
    "five small, auto batch": OLD | {"hidden": 16, "weight_decay": 1e-2, "n_models": 5, "batch_size": "auto"},
    "five small, one layer": OLD | {"hidden": 16, "weight_decay": 1e-2, "n_models": 5, "layers": 1},
    "five small 3e-2, auto batch": OLD | {"hidden": 16, "weight_decay": 3e-2, "n_models": 5, "batch_size": "auto"},
}
