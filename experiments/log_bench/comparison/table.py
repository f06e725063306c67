"""Tables from the results of a comparison: medians of rounds, ratios, and summaries of the series."""
import statistics

from common.measures import field_of
from common.rounds import Rounds
from common.tables import markdown, number, ratio
from comparison import plan

OURS = plan.PALIMPSEST.name
PEERS = [peer.name for peer in plan.PEERS]
TITLES = {"sync": "Synchronous: durable when the commit returns",
          "async": "Asynchronous: durable within a stated time"}


class Results(Rounds):
    """Results by (durability, threads). Series apart."""

    def __init__(self):
        super().__init__([OURS, *PEERS])
        self.series = {}  # durability -> {config name: result}

    def add(self, run, result):
        if run.series:
            self.series.setdefault(run.durability, {})[run.config.name] = result
        else:
            self.add_to((run.durability, run.threads), run.config.name, result)


def threads_of(row):
    return f"{row[1]} thread{'s' if row[1] > 1 else ''}"


def rates(results, durability):
    """Commits a second; medians, with half the range of the rounds."""
    rows = results.of(durability)
    configs = results.configs(rows)
    lines = []
    for row in rows:
        cells = [threads_of(row)]
        cells += [results.cell(row, config, "commits_per_s") for config in configs]
        cells.append(ratio(results.median(row, OURS, "commits_per_s"),
                           results.best(row, PEERS, "commits_per_s")))
        lines.append(cells)
    return markdown(["commits per second", *configs, "ours / best peer"], lines)


def latencies(results, durability):
    """p50 / p99 / p99.9 of a commit in microseconds; each the median of the rounds."""
    rows = results.of(durability)
    configs = results.configs(rows)
    lines = []
    for row in rows:
        cells = [threads_of(row)]
        for config in configs:
            medians = [results.median(row, config, f"latency_us.{name}")
                       for name in ("p50", "p99", "p999")]
            cells.append(" / ".join(number(value) for value in medians))
        lines.append(cells)
    return markdown(["p50 / p99 / p99.9, us", *configs], lines)


def log_bytes(results):
    """Bytes of log a commit: records without padding, and all; of the fewest threads, where no two
    commits share a record."""
    lines = []
    for durability in plan.DURABILITIES:
        rows = results.of(durability)
        if not rows:
            continue
        row = min(rows, key=lambda each: each[1])
        for config in results.configs([row]):
            lines.append([f"{config}, {durability}"] +
                         [number(results.median(row, config, f"{kind}_per_commit"))
                          for kind in ("log_record_bytes", "log_bytes")])
    return markdown(["bytes of log a commit", "records, no padding", "with padding"], lines)


def series_summary(series):
    """The spikes of a time series."""
    commits = [step["commits"] for step in series]
    p99 = [step["p99_us"] for step in series if step["commits"]]
    return {"typical": statistics.median(commits), "least": min(commits),
            "p99_typical": statistics.median(p99) if p99 else None,
            "p99_worst": max(p99, default=None),
            "max": max(step["max_us"] for step in series)}


def counted(count):
    return "–" if count is None else str(count)


def steps(results, durability):
    """Each series in one line: the typical 100 ms, the worst, and the longest commit."""
    lines = []
    found = results.series.get(durability, {})
    for config in [OURS, *PEERS]:
        series = field_of(found.get(config), "series")
        if not series:
            continue
        summary = series_summary(series)
        lines.append([config, number(summary["typical"]), number(summary["least"]),
                      number(summary["p99_typical"]), number(summary["p99_worst"]),
                      ratio(summary["p99_worst"], summary["p99_typical"]), number(summary["max"]),
                      counted(field_of(found[config], "checkpoints"))])
    if not lines:
        return None
    header = ["in steps of time", "commits, median step", "worst step", "p99 us, median step",
              "worst step", "worst / median", "longest commit, us", "checkpoints counted"]
    return markdown(header, lines)


def durable_by(results):
    """How each configuration makes commits durable, in its own terms."""
    lines = []
    for durability in plan.DURABILITIES:
        said = {}
        for row in results.of(durability):
            for config, runs in results.rows[row].items():
                said.update({config: run["durable_by"] for run in runs if "durable_by" in run})
        lines += [[f"{config}, {durability}", said[config]]
                  for config in [OURS, *PEERS] if config in said]
    return markdown(["durable by", ""], lines)


def report(results):
    """The whole report as Markdown."""
    parts = []
    for durability in plan.DURABILITIES:
        if not results.of(durability) and durability not in results.series:
            continue
        parts.append(f"## {TITLES[durability]}")
        if results.of(durability):
            parts += [rates(results, durability), latencies(results, durability)]
        series = steps(results, durability)
        parts += [f"{plan.SERIES_THREADS} threads, checkpoints every "
                  f"{plan.SERIES_CHECKPOINT_MS / 1000:g} s where they are by time:", series] \
            if series else []
    if results.rows:
        parts += ["## The log", log_bytes(results), durable_by(results)]
    return "\n\n".join(parts) + "\n"
