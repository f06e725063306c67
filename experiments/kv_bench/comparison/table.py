"""Tables from the results of a comparison: medians of repetitions, ratios, shares of the device."""
from common.rounds import Rounds
from common.tables import markdown, number, percent, ratio
from comparison import plan

OURS = plan.PALIMPSEST.name
PEERS = [peer.name for peer in plan.PEERS]
RESIDENT_TOLERANCE = 0.05


class Results(Rounds):
    """Results by (scenario, mode, threads)."""

    def __init__(self):
        super().__init__([*(config.name for config in plan.OURS), *PEERS])

    def add(self, scenario, mode, threads, config, result):
        self.add_to((scenario, mode, threads), config, result)


def failure_notes(results, scenario):
    for row in results.of(scenario):
        for config, found in results.rows[row].items():
            failed = [result["failed"] for result in found if "failed" in result]
            if failed:
                yield (f"{config}, {row[1]}, {row[2]} threads: {len(failed)} of {len(found)} runs "
                       f"failed ({failed[0]})")


def throughput(results, scenario):
    """Operations (records, for scans) a second; medians, with the spread of the repetitions."""
    rows = results.of(scenario)
    configs = results.configs(rows)
    lines = []
    for row in rows:
        cells = [f"{row[1]}, {row[2]} thread{'s' if row[2] > 1 else ''}"]
        cells += [results.cell(row, config, "ops_per_s") for config in configs]
        ours = results.median(row, OURS, "ops_per_s")
        cells += [ratio(ours, results.median(row, peer, "ops_per_s"))
                  for peer in PEERS if peer in configs]
        cells.append(ratio(ours, results.best(row, PEERS, "ops_per_s")))
        lines.append(cells)
    header = ["per second", *configs, *[f"ours / {peer}" for peer in PEERS if peer in configs],
              "ours / best peer"]
    return markdown(header, lines)


def device_share(results, scenario):
    """Page reads a second of each engine, as a share of what fio reads at the same depth."""
    rows = [row for row in results.of(scenario) if "fio" in results.rows[row]]
    if not rows:
        return None
    configs = results.configs(rows)
    lines = []
    for row in rows:
        fio = results.median(row, "fio", "page_reads_per_s")
        cells = [f"{row[1]}, {row[2]} in flight", number(fio)]
        for config in configs:
            reads = results.median(row, config, "page_reads_per_s")
            cells.append(f"{number(reads)} ({percent(reads, fio)})")
        lines.append(cells)
    return markdown(["page reads per second", "fio", *configs], lines)


def double_write_cost(results, scenario):
    """Throughput of the tree with double-write as a share of that without, per row that has both."""
    lines = []
    for row in results.of(scenario):
        both = results.median(row, plan.TREE.name, "ops_per_s")
        single = results.median(row, plan.NO_DOUBLE_WRITE.name, "ops_per_s")
        if both is not None and single:
            lines.append(f"double-write, {row[1]}, {row[2]} threads: {percent(both, single)} "
                         "of the throughput without")
    return lines


def resident(results):
    """Memory of each configuration beyond the start, compared with its setting: the worst run. For ours it is a
    promise, and judged."""
    worst = {}  # configuration -> (share, grown, memory, row)
    for row, configs in results.rows.items():
        for name, runs in configs.items():
            for result in runs:
                if "resident_bytes_max" in result:
                    grown = result["resident_bytes_max"] - result["resident_bytes_before_open"]
                    memory = result["memory_bytes"]
                    worst[name] = max(worst.get(name, (0,)), (grown / memory, grown, memory, row))
    lines = []
    for name in results.configs(results.rows):
        if name not in worst or len(worst[name]) == 1:
            continue
        share, grown, memory, row = worst[name]
        verdict = ""
        if name in [config.name for config in plan.OURS]:
            verdict = ": within 105 %" if share <= 1 + RESIDENT_TOLERANCE else ": ABOVE 105 %"
        lines.append([name, f"{memory / plan.MIB:,.0f}", f"{grown / plan.MIB:,.1f}",
                      f"{100 * share:.1f} %{verdict}", f"{row[0]}, {row[1]}, {row[2]} threads"])
    header = ["most resident memory", "configured MiB", "beyond the start, MiB", "share", "where"]
    return markdown(header, lines)


def report(results, scenarios):
    """The whole report as Markdown. `scenarios`: (name, title) pairs."""
    parts = []
    for name, title in scenarios:
        if not results.of(name):
            continue
        parts += [f"## {title}", throughput(results, name)]
        share = device_share(results, name)
        parts += [share] if share else []
        parts += double_write_cost(results, name)
        parts += failure_notes(results, name)
    parts.append(resident(results))
    return "\n\n".join(parts) + "\n"
