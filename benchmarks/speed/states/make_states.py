"""Make the trained states in this folder: `python -m benchmarks.speed.states.make_states [NAME]` (3 minutes).

Each is a model fitted to split 1 of SUPPORT or METABRIC until early stopping, its weights rounded to half precision to
keep the files small. No data are stored. A change of torch's kernels may move the last digits: the tests that read
these files compare solvers with each other at the stored weights, whatever these are.
"""

import sys
from pathlib import Path

from benchmarks import numerics

numerics.set_up()

import torch

from benchmarks.registry import model
from benchmarks.speed._parts import first_split

HERE = Path(__file__).parent
BATCH = {"support": 256, "metabric": 64}
SIZES = {32: (2, 3e-3), 128: (4, 1e-3)}  # width: (layers, learning rate)


def main(wanted: list[str]) -> None:
    """Train and save each, or those that are named."""
    torch.set_num_threads(1)
    for dataset, batch_size in BATCH.items():
        parts, _ = first_split(dataset)
        for name in ("soden", "soden_ph", "soden_cox"):
            for width, (layers, lr) in SIZES.items():
                stem = f"{dataset}_{name}_{width}x{layers}"
                if wanted and stem not in wanted:
                    continue
                rate = 3e-3 if name == "soden_cox" else lr  # beta starts far from its place
                hyper = {"width": width, "layers": layers, "lr": rate, "weight_decay": 1e-6, "batch_size": batch_size}
                fitted = model(name)(hyper)
                report = fitted.fit(parts["train"], parts["valid"], seed=1)
                state = fitted.state()
                state["weights"] = {key: value.half() for key, value in state["weights"].items()}
                torch.save(state, HERE / f"{stem}.pt")
                print(stem, report.valid_loss, report.best_epoch, report.solver_error)


if __name__ == "__main__":
    main(sys.argv[1:])
