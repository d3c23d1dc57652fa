"""The baselines on the authors' own split of METABRIC: near the published means, as far as one split can be."""

from collections.abc import Callable

import pytest

from benchmarks.data import Dataset
from benchmarks.study.verify import fit_and_score

# C^td and IBS of the paper's main table. Standard errors of .006 and .003 over ten splits mean that single splits
# differ by .02 and .01; a fixed configuration instead of a search adds to that.
PAPER = {
    "deepsurv": (0.635, 0.171),
    "cox_time": (0.648, 0.172),
    "nnet_survival": (0.666, 0.171),
    "deephit": (0.674, 0.174),
}


@pytest.mark.parametrize("name", PAPER)
def test_near_the_paper_on_metabric(name: str, load_public: Callable[[str], Dataset]) -> None:
    load_public("metabric")
    found = fit_and_score("metabric", name, split=1, batch_size=256)
    assert found["ctd"] == pytest.approx(PAPER[name][0], abs=0.05)
    assert found["ibs"] == pytest.approx(PAPER[name][1], abs=0.02)
