"""The speed table of the baselines: equal work for both sides, and a last line that says whether the goals are met."""

import argparse

import numpy as np
import pytest

from benchmarks.data import DataUnavailable
from benchmarks.speed import _parts
from benchmarks.speed import baselines as speed


def test_both_sides_train_on_whole_batches() -> None:
    data = speed._whole_batches(_parts._stand_in("metabric")["train"], 64)
    assert len(data) % 64 == 0
    assert data.event.sum() % 64 == 0
    assert len(data) > 1125 - 128


def test_simulated_numbers_stand_in_for_absent_data_and_say_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(name: str) -> None:
        raise DataUnavailable(name, [], "")

    monkeypatch.setattr(_parts, "load", absent)
    train, valid = speed.parts.__wrapped__("metabric")
    assert train.x.shape[1] == valid.x.shape[1] == 9
    said = "metabric: data not found (`python -m benchmarks datasets metabric` says why), simulated features and times"
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("name", speed.MODELS)
def test_pycox_trains_the_same_network(name: str) -> None:
    """One epoch of each runs; what they compute is compared elsewhere."""
    found = _parts._stand_in("metabric")
    train, valid = speed._whole_batches(found["train"].take(np.arange(300)), 64), found["valid"].take(np.arange(64))
    hyper = {**speed.HYPER, **speed.DISCRETE, "batch_size": 64}
    speed._pycox(name, train, valid, hyper, epochs=1)()
    report = speed._ours(name, train, valid, hyper, epochs=1)()
    assert report.status == "ok"


@pytest.mark.parametrize(("deephit", "code"), [(3.5, 0), (2.5, 1)])
def test_the_last_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], deephit: float, code: int
) -> None:
    ratios = {("support", "deephit"): deephit, ("metabric", "cox_time"): 1.25}

    def canned(dataset: str, model: str, epochs: int, repeats: int) -> speed.Result:
        return speed.Result(dataset, model, ratios.get((dataset, model), 1.75), 1.0, np.nan)

    monkeypatch.setattr(speed, "measure", canned)
    monkeypatch.setattr("torch.set_num_threads", lambda n: None)  # it would outlive this test
    assert speed.run(argparse.Namespace(quick=True)) == code
    assert capsys.readouterr().out.splitlines()[-1] == "baselines: median ratio 1.75, min ratio 1.25"
