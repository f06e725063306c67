"""The tables and the JSON of a comparison: medians of repetitions, their spread, ratios, verdicts."""
import statistics

from common.measures import ALL
from common.samples import Samples
from common.tables import markdown, quantity, ratio, with_spread
from comparison import goals

SCHEMA_VERSION = 2
HEADS = {name: head for name, head, _ in ALL}
VALUES = {name: value for name, _, value in ALL}


class Results:
    """Results by row (scenario, case) and configuration; each a dictionary of repetitions."""

    def __init__(self):
        self.rows = {}  # row -> {config name: {repetition: result}}

    def add(self, run, result):
        of_row = self.rows.setdefault(run.row, {})
        of_row.setdefault(run.config.name, {})[run.repetition] = result

    def whole(self, row, config):
        """The results of runs that did not fail, by repetition."""
        found = self.rows.get(row, {}).get(config, {})
        return {repetition: result for repetition, result in sorted(found.items())
                if "failed" not in result}

    def failures(self, row, config):
        return [result["failed"] for result in self.rows[row].get(config, {}).values()
                if "failed" in result]

    def samples(self, row, config, measure):
        return Samples.of(VALUES[measure](result) for result in self.whole(row, config).values())

    def median(self, row, config, measure):
        samples = self.samples(row, config, measure)
        return samples.median if samples else None

    def rates(self, row):
        """configuration -> {repetition: transactions a second}."""
        return {config: {repetition: result["tps"]
                         for repetition, result in self.whole(row, config).items()}
                for config in self.rows.get(row, {})}

    def shares(self, row, config):
        """The share of the throughput that an intermittent reader left, in each run."""
        return [result["long_reader"]["share"]["median"]
                for result in self.whole(row, config).values() if result["long_reader"]["share"]]


def rows_of(scenario, results):
    """(case, row) of the existing ones."""
    for case in scenario.cases:
        row = (scenario.name, case.name)
        if row in results.rows:
            yield case, row


# Transactions

def throughput_lines(results, scenario, case, row):
    ours = results.median(row, scenario.configs[0].name, "tps")
    first = case.title
    for config in scenario.configs:
        if config.name not in results.rows[row]:
            continue
        rate = results.samples(row, config.name, "tps")
        cells = [quantity(results.median(row, config.name, measure))
                 for measure in scenario.workload.measures]
        whole = results.whole(row, config.name)
        isolation = next(iter(whole.values()))["isolation"] if whole else config.isolation
        yield [first, f"{config.name} ({isolation})", with_spread(rate),
               ratio(ours, rate.median if rate else None), *cells]
        first = ""


def throughput_table(results, scenario):
    header = ["", "engine (isolation)", "transactions/s", f"{scenario.configs[0].name} / this",
              *(HEADS[measure] for measure in scenario.workload.measures)]
    return markdown(header, [line for case, row in rows_of(scenario, results)
                             for line in throughput_lines(results, scenario, case, row)])


def step_lines(results, scenario, row):
    """The cost of each step, by the medians."""
    first = before = None
    for config, text in scenario.steps:
        tps = results.median(row, config.name, "tps")
        more = 1e6 / tps - 1e6 / before if tps and before else None
        first = first or tps
        yield [text, with_spread(results.samples(row, config.name, "tps")), ratio(tps, before),
               ratio(tps, first), f"{more:+.2f}" if more is not None else "–"]
        before = tps or before


def step_table(results, scenario):
    header = ["step", "transactions/s", "of the step before", "of the first", "us a transaction"]
    return markdown(header, [line for _, row in rows_of(scenario, results)
                             for line in step_lines(results, scenario, row)])


# Scans: each result has the times of several kinds, taken by turns.

SCANS = ("none", "snapshot", "beside_versions", "old_reader")


def scan_rates(results, row):
    """kind -> {(repetition, round): rows a second}."""
    rates = {}
    for config in results.rows.get(row, {}):
        for repetition, result in results.whole(row, config).items():
            for kind, times in result["seconds"].items():
                for turn, seconds in enumerate(times):
                    rates.setdefault(kind, {})[repetition, turn] = result["records"] / seconds
    return rates


def scan_table(results, scenario):
    lines = []
    for _, row in rows_of(scenario, results):
        rates = scan_rates(results, row)
        for kind in sorted(rates, key=SCANS.index):
            samples = Samples.of(rates[kind].values())
            lines.append([kind.replace("_", " "), with_spread(samples),
                          f"{1e9 / samples.median:.1f}",
                          ratio(samples.median, statistics.median(rates["none"].values()))])
    return markdown(["scan", "rows/s", "ns a row", "of none"], lines)


# One long run, by its series

def halves_table(halves):
    lines = [[each.column.head, quantity(each.mean), quantity(each.most),
              *map(quantity, each.means), *map(quantity, each.maxima)] for each in halves]
    return markdown(["", "mean", "most", "first half", "second half", "first half, most",
                     "second half, most"], lines)


def flat_parts(results, scenario):
    """Tables and verdicts of a scenario's long runs; their series are in the results."""
    for case in scenario.cases:
        row = (scenario.name, case.name)
        for config in scenario.configs:
            if not results.whole(row, config.name):
                yield goals.verdict_of_series([], scenario.flat)
            for result in results.whole(row, config.name).values():
                halves = goals.halves_of(result["series"])
                reader = result.get("long_reader")
                if reader:
                    yield (f"{config.name}: the reader has looked {reader['looks']:,} times, and begun "
                           f"again {reader['restarts']:,} times after the engine had ended it")
                yield f"{config.name}, {result['seconds']:.0f} s:"
                yield halves_table(halves)
                yield goals.verdict_of_series(halves, scenario.flat)


# All of a scenario

def verdicts(results, scenario):
    """The verdicts of its goals, for every row, with or without results."""
    for case in scenario.cases:
        row = (scenario.name, case.name)
        rates = (results.rates(row) if scenario.workload.is_loaded else scan_rates(results, row))
        for goal in scenario.goals:
            yield case, (goals.verdict_of_share(goal, results.shares(row, goal.config))
                         if isinstance(goal, goals.Share) else goals.verdict(goal, rates))


def failure_notes(results, scenario):
    for case, row in rows_of(scenario, results):
        for config in scenario.configs:
            failed = results.failures(row, config.name) if config.name in results.rows[row] else ()
            if failed:
                yield (f"{config.name}, {case.title or scenario.name}: {len(failed)} of "
                       f"{len(results.rows[row][config.name])} runs failed ({failed[0]})")


def section(results, scenario):
    parts = [f"### {scenario.title[0].upper()}{scenario.title[1:]}"]
    if not any(rows_of(scenario, results)):
        parts.append("No run was made.")
    elif scenario.workload.is_loaded:
        parts.append(throughput_table(results, scenario))
    else:
        parts.append(scan_table(results, scenario))
    if scenario.steps:
        parts.append(step_table(results, scenario))
    if scenario.flat:
        parts += [part.line() if isinstance(part, goals.Verdict) else part
                  for part in flat_parts(results, scenario)]
    lines = [f"- {found.line()}" for _, found in verdicts(results, scenario)]
    return [*parts, *(["\n".join(lines)] if lines else []), *failure_notes(results, scenario)]


def report(results, scenarios):
    """A section for each scenario, as Markdown."""
    parts = [part for scenario in scenarios for part in section(results, scenario)]
    return "\n\n".join(parts) + "\n"


def entry_of(samples):
    return None if samples is None else {"median": samples.median, "least": samples.least,
                                         "most": samples.most, "runs": len(samples.values)}


def row_json(results, scenario, case, row, config):
    named = {"scenario": scenario.name, "case": case.name, scenario.workload.scale_flag: scenario.scale,
             "memory_mib": scenario.memory_mib, "memory_capped": scenario.capped,
             "durability": case.durability, "threads": case.threads, "engine": config.name,
             "isolation": config.isolation, "failed": results.failures(row, config.name)}
    if not scenario.workload.is_loaded:
        return {**named, "rows_per_s": {kind: entry_of(Samples.of(values.values()))
                                        for kind, values in scan_rates(results, row).items()}}
    return {**named, **{name: entry_of(results.samples(row, config.name, name)) for name in VALUES}}


def verdict_json(scenario, case, found):
    return {"scenario": scenario.name, "case": case, "text": found.text, "value": found.value,
            "reached": found.reached}


def to_json(results, scenarios):
    """Everything as one object."""
    rows, judged = [], []
    for scenario in scenarios:
        for case, row in rows_of(scenario, results):
            rows += [row_json(results, scenario, case, row, config) for config in scenario.configs
                     if config.name in results.rows[row]]
        judged += [verdict_json(scenario, case.name, found)
                   for case, found in verdicts(results, scenario)]
        if scenario.flat:
            judged += [verdict_json(scenario, None, part) for part in flat_parts(results, scenario)
                       if isinstance(part, goals.Verdict)]
    return {"schema_version": SCHEMA_VERSION, "rows": rows, "verdicts": judged}
