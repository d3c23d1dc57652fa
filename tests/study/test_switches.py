"""Searches with one thing changed: without a change they are the reference's; each variant is what its name says."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from baselines.cox_time import CoxTime
from benchmarks.__main__ import main
from benchmarks.data import Dataset
from benchmarks.study import switches, variants
from benchmarks.study.rows import plain_rows
from benchmarks.study.trial import better
from soden.nets import MLP
from soden.types import SurvivalData

REFERENCE = Path(__file__).resolve().parents[2] / "results" / "reference" / "trials.parquet"


def test_without_a_change_it_is_the_references_search(load_public: Callable[[str], Dataset]) -> None:
    load_public("metabric")
    row, _ = switches.chosen(("none", "metabric", "deepsurv", 1))
    frame = pd.read_parquet(REFERENCE).query("dataset == 'metabric' and model == 'deepsurv' and split == 1")
    best = None
    for known in plain_rows(frame[frame["trial"] < switches.TRIALS]):
        best = known if better(known, best) else best
    assert best is not None
    assert (row["trial"], row["hyper"]) == (best["trial"], best["hyper"])
    assert row["score"] == best["score"]


def test_every_change_is_compared_with_the_same_search_without_it() -> None:
    jobs = set(switches.jobs())
    assert {("none", *job[1:]) for job in jobs} <= jobs
    assert {job[0] for job in jobs} == set(switches.CHANGES)


def test_effects_are_paired_by_split() -> None:
    """Closed form: gaps .1 and .3 have mean .2 and standard error .1; the splits' own spread plays no part."""
    key = {"dataset": "metabric", "model": "soden", "metric": "ctd", "g_tau": ""}
    values = {"none": (0.2, 0.8), "momentum used": (0.3, 1.1)}
    rows = [{**key, "change": c, "split": s, "value": v} for c, pair in values.items() for s, v in enumerate(pair)]
    (found,) = switches.effects(pd.DataFrame(rows)).to_dict("records")
    assert (found["change"], found["without"], found["splits"]) == ("momentum used", 0.5, 2)
    assert (found["effect"], found["standard_error"]) == (pytest.approx(0.2), pytest.approx(0.1))


def test_batch_norm_comes_before_relu() -> None:
    net = variants.NormBeforeReLU(3, 4, 2, 1, 0.1, True)
    kinds = [type(module) for module in net]
    assert kinds == [nn.Linear, nn.BatchNorm1d, nn.ReLU, nn.Dropout] * 2 + [nn.Linear]
    x = torch.randn(20, 3)
    net(x)
    net.eval()
    with torch.no_grad():
        assert torch.allclose(net.after_first((net.first(x)).t()).t(), nn.Sequential(*net)(x), atol=1e-6)


def test_without_batch_norm_nothing_is_otherwise() -> None:
    nets = []
    for kind in (MLP, variants.NormBeforeReLU):
        torch.manual_seed(1)
        nets.append(kind(3, 4, 2, 1))
    x = torch.randn(5, 3)
    assert torch.equal(*(net(x) for net in nets))


def test_kaiming_weights_have_his_variance() -> None:
    """Normal with variance 2 / inputs (He et al. 2015), the last layer as torch has it."""
    torch.manual_seed(0)
    net = variants.KaimingStart(200, 300, 2, 1)
    first, second, last = net.linears()
    assert float(first.weight.detach().std()) == pytest.approx((2 / 200) ** 0.5, rel=0.02)
    assert float(second.weight.detach().std()) == pytest.approx((2 / 300) ** 0.5, rel=0.02)
    assert float(last.weight.detach().abs().max()) <= 300**-0.5


@pytest.mark.parametrize("intervals", [5, 20])
def test_cuts_at_quantiles_are_pycoxs(intervals: int) -> None:
    from pycox.preprocessing.discretization import cuts_quantiles

    rng = np.random.default_rng(intervals)
    time, event = rng.exponential(size=300) ** 2, rng.random(300) < 0.6
    assert variants.quantile_cuts(time, event, intervals) == pytest.approx(cuts_quantiles(time, event, intervals))


def test_one_fresh_control_differs_from_epoch_to_epoch() -> None:
    rng = np.random.default_rng(0)
    data = SurvivalData(np.sort(rng.exponential(size=60)), np.ones(60, bool), rng.normal(size=(60, 2)))
    hyper = {"layers": 1, "width": 4, "lr": 1e-3, "batch_size": 16, "weight_decay": 0.0, "momentum": 0.0}
    losses = {}
    for name in ("none", "one fresh control"):
        with switches.CHANGES[name].inside(), torch.no_grad():
            model = CoxTime(hyper)
            with torch.enable_grad():
                model.fit(data, data, 0)
            losses[name] = [model.valid_loss(model.batch(data, torch.device("cpu"))) for _ in range(2)]
    assert losses["none"][0] == losses["none"][1]
    assert losses["one fresh control"][0] != losses["one fresh control"][1]


def test_an_unknown_change_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["switches", "--changes", "momentun used", "--directory", str(tmp_path)]) != 0
    assert "'momentun used' is none of: 'momentum used', 'plain mean NLL'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
