"""Train the members of an ensemble, one after the other or each in a process of its own."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from soden.hazard import Hazard
from soden.models import OdeModel
from soden.types import FitOptions, FitReport, SurvivalData


@dataclass
class Member:
    """A network that is to be trained."""

    kind: type[OdeModel]
    hazard: type[Hazard] | None
    hyper: dict[str, Any]
    options: FitOptions
    start: dict[str, Any] | None  # weights to go on from
    train: SurvivalData
    held_out: SurvivalData
    seed: int

    def model_class(self) -> type[OdeModel]:
        """Of the user's hazard, if there is one."""
        own = {"hazard_class": self.hazard}
        return self.kind if self.hazard is None else type(self.hazard.__name__, (self.kind,), own)

    def trained(self) -> tuple[OdeModel, FitReport]:
        """Train it here."""
        model = self.model_class()(self.hyper, self.options)
        model.start = self.start
        return model, model.fit(self.train, self.held_out, self.seed)


def all_trained(members: Sequence[Member], n_jobs: int) -> Iterator[tuple[OdeModel, FitReport]]:
    """Models and reports in their order; with several jobs, processes of one thread each train them."""
    if n_jobs == 1 or len(members) == 1:
        for number in range(len(members)):
            _announce(members, number)
            yield members[number].trained()
        return
    if getattr(members[0].hazard, "__module__", "") == "__main__":
        raise ValueError("with n_jobs > 1 the class of hazard= must be in a module of its own, not in the main script")
    running: list[subprocess.Popen[bytes]] = []

    def elsewhere(number: int) -> tuple[OdeModel, FitReport]:
        member = members[number]
        _announce(members, number)
        path = os.pathsep.join(part for part in sys.path if part)
        process = subprocess.Popen(
            [sys.executable, "-m", "soden.members"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
        )
        running.append(process)
        answer, _ = process.communicate(pickle.dumps(member))
        if process.returncode:
            raise RuntimeError(f"a process that trained a member ended with code {process.returncode}; try n_jobs=1")
        state, report = pickle.loads(answer)
        if isinstance(report, str):
            raise ValueError(report)
        return member.model_class().from_state(state), report

    with ThreadPoolExecutor(n_jobs) as pool:
        try:
            yield from pool.map(elsewhere, range(len(members)))
        except BaseException:  # such as Ctrl-C: nobody waits for the others
            pool.shutdown(wait=False, cancel_futures=True)
            for process in running:
                process.kill()
            raise


def _announce(members: Sequence[Member], number: int) -> None:
    if members[number].options.progress and len(members) > 1:
        print(f"model {number + 1} of {len(members)}", file=sys.stderr)


def main() -> None:
    """Train the member that comes on stdin; its state and report, or what went wrong, go to stdout."""
    try:
        model, report = pickle.load(sys.stdin.buffer).trained()
        answer = model.state(), report
    except ValueError as error:
        answer = None, str(error)
    except (KeyboardInterrupt, SystemError):  # the main process says it
        sys.exit(130)
    sys.stdout.buffer.write(pickle.dumps(answer))


if __name__ == "__main__":
    main()
