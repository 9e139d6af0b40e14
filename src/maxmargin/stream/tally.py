"""Progressive validation: every example is a test before it is a lesson."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.stream.block import NO_LABEL

__all__ = ["Tally"]


@dataclass
class Tally:
    """Counts of a stream so far; an example for which nothing could be predicted is a mistake."""

    examples: int = 0
    labelled: int = 0
    mistakes: int = 0
    marked: int = 0  # mistakes up to the last report

    def add(self, predicted: np.ndarray, codes: np.ndarray, every: int = 0) -> list[str]:
        """Count some examples; return the reports that are due after every so many labelled ones."""
        self.examples += len(codes)
        wrong = (predicted != codes)[codes != NO_LABEL]
        if not every or (self.labelled % every) + len(wrong) < every:
            self.labelled += len(wrong)
            self.mistakes += int(np.count_nonzero(wrong))
            return []
        total = self.mistakes + np.cumsum(wrong)
        reports: list[str] = []
        for at in range(every - self.labelled % every, len(wrong) + 1, every):
            self._report(reports, self.labelled + at, int(total[at - 1]), every)
        self.labelled += len(wrong)
        self.mistakes = int(total[-1])
        return reports

    def _report(self, reports: list[str], labelled: int, mistakes: int, every: int) -> None:
        recent = (mistakes - self.marked) / every
        self.marked = mistakes
        reports.append(
            f"{labelled:,} examples: {mistakes:,} mistakes, error {mistakes / labelled:.5f}, "
            f"of the last {every:,} {recent:.5f}"
        )

    def summary(self) -> str:
        """The final line; examples that taught nothing, for want of a label, are counted."""
        error = f"error {self.mistakes / self.labelled:.5f}" if self.labelled else "no labels"
        learned = f"{self.labelled:,} examples learned: {self.mistakes:,} mistakes, {error}"
        rest = self.examples - self.labelled
        if not rest:
            return learned
        said = f"{learned}. {rest:,} more without a label, only predicted"
        if self.labelled:
            return said
        return f'{said}: a label is the first word of an svmlight line, or "y" of a JSON line'
