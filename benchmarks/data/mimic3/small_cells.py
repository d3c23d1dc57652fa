"""Hide counts of one to nine patients in what may be passed on of a build.

It holds for flow.csv, checks.csv and what `mimic check` prints. The open demo and invented tables show everything.
"""

from dataclasses import dataclass

FEWEST = 10
HIDDEN = "small cell"


def coarse(time: float) -> float:
    """A time to two digits: a quantile or a maximum of credentialed times is one patient's, to the minute."""
    return float(f"{time:.2g}")


@dataclass(frozen=True)
class SmallCells:
    """Decides what may be shown; `credentialed` is true of tables that are neither the demo nor invented."""

    credentialed: bool

    def few(self, n: int) -> bool:
        """True of 1 to 9, in credentialed tables."""
        return self.credentialed and 0 < abs(n) < FEWEST

    def count(self, n: int, *shown: int | str) -> int | str:
        """A count, hidden if it is small or differs by a small number from another that is shown beside it."""
        others = [0, *(other for other in shown if isinstance(other, int))]
        return HIDDEN if any(self.few(n - other) for other in others) else n

    def share(self, part: int, whole: int) -> float | str:
        """part / whole, hidden if the part or its complement is small."""
        if not whole:
            return ""
        return HIDDEN if self.few(part) or self.few(whole - part) else part / whole

    def statistic(self, value: float, patients: int, *, least: int = FEWEST) -> float | str:
        """A mean, median or percentile, hidden if it rests on fewer than `least` patients; empty if on none."""
        if not patients:
            return ""
        return HIDDEN if self.credentialed and patients < least else float(value)

    def time(self, value: float, patients: int) -> float | str:
        """A mean or median of times, to two digits."""
        shown = self.statistic(value, patients)
        return coarse(shown) if self.credentialed and isinstance(shown, float) else shown

    def nested(self, counts: list[int]) -> list[int | str]:
        """Counts of groups each of which holds the next: the last is shown, and those that differ from it enough."""
        shown: list[int | str] = []
        for n in reversed(counts):
            shown.insert(0, self.count(n, *shown))
        return shown
