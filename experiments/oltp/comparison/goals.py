"""The goals of a comparison, and whether they are reached: ratios of configurations, rates, and constant
series."""
import csv
import dataclasses
import statistics

MIB = 1 << 20


@dataclasses.dataclass(frozen=True)
class Goal:
    """One configuration must reach so much of another's throughput, or so many transactions a second."""
    config: str
    at_least: float
    of: str | None = None  # a configuration; None: a rate


@dataclasses.dataclass(frozen=True)
class Share:
    """A reader that is open at times must leave so much of the throughput."""
    config: str
    at_least: float


@dataclasses.dataclass(frozen=True)
class Verdict:
    text: str
    value: float | None
    reached: bool | None  # None: there are no data that could say

    def line(self):
        said = {True: "reached", False: "MISSED", None: "no data"}
        return f"{self.text}: {said[self.reached]}"


def rounds_of(values):
    return f"{len(values)} round{'s' if len(values) > 1 else ''}"


def no_data(goal):
    """The verdict of a goal with missing or failed runs."""
    of = getattr(goal, "of", None)
    return Verdict(f"{goal.config}{f' / {of}' if of else ''}, at least {goal.at_least:,g}", None, None)


def verdict(goal, rates):
    """`rates`: configuration -> {repetition: transactions a second}. A ratio is the median of the rounds'
    ratios; the two runs of a ratio follow each other."""
    ours = rates.get(goal.config, {})
    if goal.of is None:
        if not ours:
            return no_data(goal)
        value = statistics.median(ours.values())
        return Verdict(f"{goal.config}: {value:,.0f} transactions/s, at least {goal.at_least:,.0f}",
                       value, value >= goal.at_least)
    theirs = rates.get(goal.of, {})
    ratios = [ours[each] / theirs[each] for each in ours if theirs.get(each)]
    if not ratios:
        return no_data(goal)
    value = statistics.median(ratios)
    return Verdict(f"{goal.config} / {goal.of}: {value:.2f} ({rounds_of(ratios)}), at least "
                   f"{goal.at_least:g}", value, value >= goal.at_least)


def verdict_of_share(goal, shares):
    """`shares`: of the runs, each the median of its turns."""
    if not shares:
        return no_data(goal)
    value = statistics.median(shares)
    return Verdict(f"{goal.config}: {value:.2f} of what there is without ({rounds_of(shares)}), at least "
                   f"{goal.at_least:g}", value, value >= goal.at_least)


@dataclasses.dataclass(frozen=True)
class Flat:
    """The allowed ratio of the second half of a series to its first half."""
    throughput_least: float = 0.9
    memory_mean_most: float = 1.25
    memory_max_most: float = 1.5


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of a series: its name, its display, and its limits."""
    name: str
    head: str
    unit: float  # of a shown value
    slack: float  # of memory: a smaller increase is ignored, in that unit; None: throughput


COLUMNS = (
    Column("tps", "transactions/s", 1, None),
    Column("version_bytes", "versions, MiB", MIB, 1.0),
    Column("mapping_table_bytes", "entries and mapping tables, MiB", MIB, 1.0),
    Column("orphan_tables", "orphan tables", 1, 64.0),
    Column("rss_bytes", "rss, MiB", MIB, 32.0),
)


def read_series(path):
    """The columns above and "end_s" as lists of numbers; those that the engine does not report are left out."""
    with open(path, encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    names = ["end_s", *(column.name for column in COLUMNS)]
    return {name: [float(line[name]) for line in lines]
            for name in names if lines and all(line.get(name) for line in lines)}


def is_whole(path, result):
    """Whether a series is complete: every line is whole, and the sum of its commits is that of the run's
    result."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
        lines = list(csv.reader(text.splitlines()))
        return (text.endswith("\n") and all(len(line) == len(lines[0]) for line in lines) and
                sum(int(line[lines[0].index("commits")]) for line in lines[1:]) == result["commits"])
    except (OSError, ValueError, LookupError):
        return False


@dataclasses.dataclass(frozen=True)
class Halves:
    """A column of a series, in its unit."""
    column: Column
    mean: float
    most: float
    means: tuple  # of the first half, of the second
    maxima: tuple

    def fault(self, flat):
        """How the second half exceeds the limits of the first, or None."""
        first, second = self.means
        if self.column.slack is None:
            if second < flat.throughput_least * first:
                return f"{self.column.head} fall to {second:,.0f} from {first:,.0f}"
            return None
        if second > flat.memory_mean_most * first + self.column.slack:
            return f"{self.column.head} grow to {second:,.1f} from {first:,.1f} on average"
        first, second = self.maxima
        if second > flat.memory_max_most * first + self.column.slack:
            return f"{self.column.head} grow to {second:,.1f} from {first:,.1f} at most"
        return None


def halves_of(series):
    """The verdict of every existing column; none for a series too short to have halves."""
    ends = series.get("end_s", [])
    middle = ends[-1] / 2 if ends else 0
    cut = sum(end <= middle for end in ends)
    if not 0 < cut < len(ends):
        return []
    found = []
    for column in COLUMNS:
        if column.name in series:
            values = [value / column.unit for value in series[column.name]]
            parts = (values[:cut], values[cut:])
            found.append(Halves(column, statistics.fmean(values), max(values),
                                tuple(map(statistics.fmean, parts)), tuple(map(max, parts))))
    return found


def verdict_of_series(halves, flat):
    if not halves:
        return Verdict("flat", None, None)
    faults = [fault for fault in (each.fault(flat) for each in halves) if fault]
    return Verdict("flat: " + ("; ".join(faults) if faults else "the second half is as the first"),
                   None, not faults)
