"""Put one data set into a run's folder, or write down why it cannot be had; a run goes on without it and says so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import data
from benchmarks.data.files import replacing
from benchmarks.data.settings import data_folders


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """What the `data` verb needs of the config, as plain JSON: only this reruns when it changes."""
    section = config["data"]
    return {
        "folders": [str(folder) for folder in data_folders(section["folder"])],
        "cache": section["cache"],
        "offline": section["offline"],
        "simulated_n": section["simulated_n"],
        "seed": config["seed"],
    }


def data_settings(
    plain: Mapping[str, Any], options: Mapping[str, Mapping[str, Any]] | None = None
) -> data.DataSettings:
    """The loaders' settings from plain JSON."""
    chosen: dict[str, Any] = {name: plain[name] for name in ("folders", "offline", "simulated_n", "seed")}
    if plain["cache"]:
        chosen["cache"] = Path(plain["cache"])
    return data.DataSettings(**chosen, options=options or {})


def prepare(name: str, settings: data.DataSettings, out: Path) -> dict[str, Any]:
    """Write <out>.npz and <out>.json; the npz is empty and the JSON says why if the data cannot be had."""
    try:
        dataset = data.load(name, settings)
    except data.DataUnavailable as error:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.with_suffix(".npz").write_bytes(b"")
        status: dict[str, Any] = {"dataset": name, "available": False, "why": str(error)}
    else:
        dataset.save(out.with_suffix(".npz"))
        summary = dataset.summary()
        status = {"dataset": name, "available": True, "why": "", "sha256": dataset.sha256(), "source": dataset.source}
        status |= {"mark": dataset.mark, "summary": summary}
    with replacing(out.with_suffix(".json")) as part:
        part.write_text(json.dumps(status, indent=1, sort_keys=True))
    return status
