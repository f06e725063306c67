"""Tables from the results of a comparison: medians of rounds, ratios, and summaries of the series."""
import statistics

from common.tables import markdown, number, ratio
from comparison import plan

OURS = plan.PALIMPSEST.name
PEERS = [peer.name for peer in plan.PEERS]
TITLES = {"sync": "Synchronous: durable when the commit returns",
          "async": "Asynchronous: durable within a stated time"}


def field_of(result, path):
    """The number at "a.b" of nested objects, or None."""
    for name in path.split("."):
        if not isinstance(result, dict) or name not in result:
            return None
        result = result[name]
    return result


class Results:
    """Results by (durability, threads) and configuration; each a list over rounds. Series apart."""

    def __init__(self):
        self.rows = {}  # (durability, threads) -> {config name: [result, ...]}, in order of arrival
        self.series = {}  # durability -> {config name: result}

    def add(self, run, result):
        if run.series:
            self.series.setdefault(run.durability, {})[run.config.name] = result
        else:
            row = self.rows.setdefault((run.durability, run.threads), {})
            row.setdefault(run.config.name, []).append(result)

    def of(self, durability):
        return [row for row in self.rows if row[0] == durability]

    def configs(self, rows):
        """Names of all configurations in these rows, ours first."""
        present = {name for row in rows for name in self.rows[row]}
        return [name for name in [OURS, *PEERS] if name in present]

    def values(self, row, config, path):
        found = [field_of(result, path) for result in self.rows[row].get(config, [])]
        return [value for value in found if value is not None]

    def median(self, row, config, path):
        """The median over the rounds, or None if there is none."""
        values = self.values(row, config, path)
        return statistics.median(values) if values else None

    def spread(self, row, config, path):
        """Half the range over the median, or None: of one value, too."""
        values = self.values(row, config, path)
        middle = statistics.median(values) if len(values) > 1 else 0
        return (max(values) - min(values)) / 2 / middle if middle else None


    def lost_rounds(self, row, config):
        """The mark after a figure that does not cover all rounds."""
        found = self.rows[row].get(config, [])
        whole = sum("failed" not in result for result in found)
        return f" ({whole} of {len(found)} rounds)" if whole < len(found) else ""


def threads_of(row):
    return f"{row[1]} thread{'s' if row[1] > 1 else ''}"


def rates(results, durability):
    """Commits a second; medians, with half the range of the rounds."""
    rows = results.of(durability)
    configs = results.configs(rows)
    lines = []
    for row in rows:
        cells = [threads_of(row)]
        for config in configs:
            spread = results.spread(row, config, "commits_per_s")
            cells.append(number(results.median(row, config, "commits_per_s")) +
                         (f" ±{100 * spread:.0f} %" if spread is not None else "") +
                         results.lost_rounds(row, config))
        peers = [results.median(row, peer, "commits_per_s") for peer in PEERS]
        best = max((rate for rate in peers if rate is not None), default=None)
        cells.append(ratio(results.median(row, OURS, "commits_per_s"), best))
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
