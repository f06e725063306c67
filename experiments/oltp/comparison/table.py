"""The table and the JSON of a comparison: medians of repetitions, their spread, ratios."""
from common.measures import MEASURES
from common.samples import Samples
from common.tables import markdown, number, quantity, ratio, with_spread
from comparison import plan

SCHEMA_VERSION = 1


class Results:
    """Results by row (scenario, durability, threads) and configuration; each a list of repetitions."""

    def __init__(self):
        self.rows = {}  # row -> {config name: [result, ...]}, in order of arrival

    def add(self, run, result):
        self.rows.setdefault(run.row, {}).setdefault(run.config.name, []).append(result)

    def whole(self, row, config):
        """The results of runs that did not fail."""
        return [result for result in self.rows[row].get(config, []) if "failed" not in result]

    def failures(self, row, config):
        return [result["failed"] for result in self.rows[row].get(config, []) if "failed" in result]

    def samples(self, row, config, value):
        return Samples.of(value(result) for result in self.whole(row, config))

    def median(self, row, config, value):
        samples = self.samples(row, config, value)
        return samples.median if samples else None


def row_title(row, titles):
    scenario, durability, threads = row
    return f"{titles[scenario]}; {durability}, {threads} thread{'s' if threads > 1 else ''}"


def lines_of(results, row, titles):
    tps = MEASURES[0][2]
    ours = results.median(row, plan.PALIMPSEST.name, tps)
    first = row_title(row, titles)
    for config in plan.CONFIGS:
        if config.name not in results.rows[row]:
            continue
        rate = results.samples(row, config.name, tps)
        cells = [quantity(results.median(row, config.name, value)) for _, _, value in MEASURES[1:]]
        isolation = results.whole(row, config.name)[0]["isolation"] if rate else config.isolation
        yield [first, f"{config.name} ({isolation})", with_spread(rate),
               ratio(ours, rate.median if rate else None), *cells]
        first = ""


def failure_notes(results, titles):
    for row in results.rows:
        for config in plan.CONFIGS:
            failed = results.failures(row, config.name)
            if failed:
                yield (f"{config.name}, {row_title(row, titles)}: {len(failed)} of "
                       f"{len(results.rows[row][config.name])} runs failed ({failed[0]})")


def report(results, titles):
    """One table of everything, as Markdown. `titles`: of scenarios, by name."""
    header = ["", "engine (isolation)", MEASURES[0][1], "ours / this",
              *[head for _, head, _ in MEASURES[1:]]]
    lines = [line for row in results.rows for line in lines_of(results, row, titles)]
    parts = [markdown(header, lines), *failure_notes(results, titles)]
    return "\n\n".join(parts) + "\n"


def entry_of(samples):
    return None if samples is None else {"median": samples.median, "least": samples.least,
                                         "most": samples.most, "runs": len(samples.values)}


def to_json(results, scenarios):
    """Everything as one object. `scenarios`: those of the plan, by name."""
    rows = []
    for row in results.rows:
        scenario = scenarios[row[0]]
        for config in plan.CONFIGS:
            if config.name in results.rows[row]:
                measures = {name: entry_of(results.samples(row, config.name, value))
                            for name, _, value in MEASURES}
                rows.append({"scenario": scenario.name, "warehouses": scenario.warehouses,
                             "memory_mib": scenario.memory_mib, "memory_capped": scenario.capped,
                             "durability": row[1], "threads": row[2], "engine": config.name,
                             "isolation": config.isolation,
                             "failed": results.failures(row, config.name), **measures})
    return {"schema_version": SCHEMA_VERSION, "rows": rows}
