"""Results of runs that are repeated in rounds, by row and configuration."""
from common.measures import field_of
from common.samples import Samples
from common.tables import number, with_spread


class Rounds:
    """Results by row (a tuple) and configuration name; each a list over rounds. `order`: names of all
    configurations, ours first."""

    def __init__(self, order):
        self.order = order
        self.rows = {}  # row -> {config name: [result, ...]}, in order of arrival

    def add_to(self, row, config, result):
        self.rows.setdefault(row, {}).setdefault(config, []).append(result)

    def of(self, first):
        """The rows that begin so."""
        return [row for row in self.rows if row[0] == first]

    def configs(self, rows):
        """Names of all configurations in these rows."""
        present = {name for row in rows for name in self.rows[row]}
        return [name for name in self.order if name in present]

    def samples(self, row, config, path):
        return Samples.of(field_of(result, path) for result in self.rows[row].get(config, []))

    def median(self, row, config, path):
        """The median over the rounds, or None if there is none."""
        samples = self.samples(row, config, path)
        return samples.median if samples else None

    def best(self, row, configs, path):
        medians = [self.median(row, config, path) for config in configs]
        return max((value for value in medians if value is not None), default=None)

    def cell(self, row, config, path):
        """The median with half the range of the rounds, and a mark if it does not cover all of them."""
        found = self.rows[row].get(config, [])
        whole = sum("failed" not in result for result in found)
        return with_spread(self.samples(row, config, path), number) + \
            (f" ({whole} of {len(found)} rounds)" if whole < len(found) else "")
