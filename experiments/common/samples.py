"""Statistics of repeated runs."""
import dataclasses
import statistics


@dataclasses.dataclass(frozen=True)
class Samples:
    """The values of some runs, at least one."""
    values: tuple

    @staticmethod
    def of(values):
        """The values that are not None, as samples; None if there are none."""
        present = tuple(value for value in values if value is not None)
        return Samples(present) if present else None

    @property
    def median(self):
        return statistics.median(self.values)

    @property
    def least(self):
        return min(self.values)

    @property
    def most(self):
        return max(self.values)

    @property
    def spread(self):
        """Half the range over the median; None where that has no meaning, as for one run."""
        if len(self.values) < 2 or not self.median:
            return None
        return (self.most - self.least) / 2 / self.median

    def apart_from(self, other):
        """Whether no value of one lies within the range of the other."""
        return self.most < other.least or other.most < self.least
