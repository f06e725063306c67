"""The tables of a comparison: medians of rounds, their spread, ratios."""
from common.measures import field_of
from common.samples import Samples
from common.tables import markdown, ratio, with_spread
from comparison import files, plan

MB = 1e6
WITHIN = 0.10  # of loads without versions: the limit for bulks


class Results:
    """Results by step, row and variant; each a list of rounds."""

    def __init__(self):
        self.found = {}  # step -> {(row, name): [result, ...]}, in order of arrival

    def add(self, run, step, result):
        of_step = self.found.setdefault(step.name, {})
        of_step.setdefault((run.variant.row, run.variant.name), []).append(result)

    def has(self, step):
        return step in self.found

    def variants(self, step):
        return list(self.found.get(step, {}))

    def of(self, step, variant):
        """The results that did not fail."""
        return [result for result in self.found.get(step, {}).get(variant, [])
                if "failed" not in result]

    def samples(self, step, variant, value):
        """`value`: a function of a result, or the path of a field."""
        get = value if callable(value) else lambda result: field_of(result, value)
        return Samples.of(get(result) for result in self.of(step, variant))

    def median(self, step, variant, value):
        samples = self.samples(step, variant, value)
        return samples.median if samples else None

    def failures(self):
        for step, variants in self.found.items():
            for (row, name), results in variants.items():
                failed = [result["failed"] for result in results if "failed" in result]
                if failed:
                    yield (f"{step}, {row}, {name}: {len(failed)} of {len(results)} runs failed "
                           f"({failed[0]})")


def scaled(path, unit):
    def value(result):
        found = field_of(result, path)
        return None if found is None else found / unit
    return value


def rows_per_second(result):
    return result["rows"] / result["seconds"] if result.get("rows") else None


def table(results, step, columns, head):
    """A line for each variant of the step. `columns`: (name, value)."""
    lines = [[f"{row}: {name}" if row != "range" else name,
              *[with_spread(results.samples(step, (row, name), value)) for _, value in columns]]
             for row, name in results.variants(step)]
    return markdown([head, *[name for name, _ in columns]], lines)


LOAD = (("seconds", "seconds"), ("rows/s", "rows_per_s"),
        ("in the engine, s", "insert_seconds"), ("closed, s", "close_seconds"),
        ("versions, MB", scaled("version_bytes_max", MB)),
        ("entries, MB", scaled("entry_bytes_max", MB)), ("log, MB", scaled("log_bytes", MB)),
        ("resident, MB", scaled("resident_bytes_max", MB)),
        ("data, MB", scaled("data_bytes", MB)))


def judgements(results):
    """Whether bulks take as long as loads without versions, and have as few."""
    for row, name in results.variants("load"):
        ours, off = ((results.median("load", (row, each), "seconds")) for each in (name, plan.OFF))
        if name != plan.BULK or ours is None or not off:
            continue
        versions, none = (results.samples("load", (row, each), "version_bytes_max").most
                          for each in (name, plan.OFF))
        verdict = "within" if ours <= off * (1 + WITHIN) else "NOT within"
        yield (f"{row}: a bulk takes {ratio(ours, off)} of the seconds of a load without versions, "
               f"{verdict} {100 * WITHIN:.0f} % of it, and at most {versions:,.0f} bytes of versions "
               f"(without versions: {none:,.0f}).")


def load(results):
    return [table(results, "load", LOAD, "threads: versions"), *judgements(results)]


def phase(name, path):
    """The value of that phase of a result of bulk_bench."""
    def value(result):
        return next((field_of(each, path) for each in result["phases"] if each["phase"] == name),
                    None)
    return value


def beside(results):
    rate = phase("beside", "reads_per_s")
    names = (plan.NOTHING, plan.TRANSACTIONS, plan.BULKS)
    lines = []
    for row in dict.fromkeys(row for row, _ in results.variants("beside")):
        alone, transactions, bulks = (results.median("beside", (row, name), rate) for name in names)
        lines.append([row, *[with_spread(results.samples("beside", (row, name), rate))
                             for name in names],
                      ratio(transactions, alone), ratio(bulks, alone), ratio(bulks, transactions)])
    header = ["a second", *[f"beside {name}" for name in names], "transactions / nothing",
              "bulks / nothing", "bulks / transactions"]
    columns = (("p50, us", phase("beside", "read_latency_us.p50")),
               ("p99, us", phase("beside", "read_latency_us.p99")),
               ("begun again", phase("beside", "read_restarts")),
               ("rows updated/s", phase("beside", "updated_rows_per_s")),
               ("updates of all rows", phase("beside", "updates")),
               ("updates begun again", phase("beside", "update_restarts")),
               ("versions, MB", scaled("version_bytes_max", MB)),
               ("resident, MB", scaled("resident_bytes_max", MB)))
    return [markdown(header, lines), table(results, "beside", columns, "reads: beside")]


def window(results):
    columns = (("seconds", "seconds"), ("reads/s", "reads_per_s"), ("p50, us", "read_latency_us.p50"),
               ("p99, us", "read_latency_us.p99"), ("longest, us", "read_latency_us.max"),
               ("other writes/s", "other_writes_per_s"), ("p50, us", "other_write_latency_us.p50"),
               ("p99, us", "other_write_latency_us.p99"),
               ("longest, us", "other_write_latency_us.max"),
               ("rows updated/s", "updated_rows_per_s"))
    lines = [[f"{name}: {when}",
              *[with_spread(results.samples("window", (row, name), phase(when, path)))
                for _, path in columns]]
             for row, name in results.variants("window") for when in ("before", "during", "after")]
    return [markdown(["update in", *[name for name, _ in columns]], lines)]


FILES = (("s until durable", "seconds"), ("MB/s", "mb_per_s"), ("rows/s", rows_per_second),
         ("s until settled", "settled_seconds"), ("resident, MB", scaled("resident_bytes_max", MB)),
         ("of it mapped files", scaled("resident_file_bytes_max", MB)),
         ("data, MB", scaled("data_bytes", MB)))


def files_ratios(results):
    """The ratio of the MB/s of Palimpsest's loader to those of the other engines."""
    lines = []
    for row in dict.fromkeys(row for row, _ in results.variants("files")):
        rates = [results.median("files", (row, name), "mb_per_s") for name in files.ENGINES]
        lines.append([row, *[ratio(rates[0], rate) for rate in rates[1:]]])
    return markdown(["times the MB/s of", *files.ENGINES[1:]], lines)


INGEST = (("s until durable", "seconds"), ("rows/s", "rows_per_s"), ("MB/s", "mb_per_s"),
          ("closed, s", "close_seconds"), ("resident, MB", scaled("resident_bytes_max", MB)),
          ("of it mapped files", scaled("resident_file_bytes_max", MB)),
          ("versions, MB", scaled("version_bytes_max", MB)),
          ("written, MB", scaled("write_bytes", MB)), ("data, MB", scaled("data_bytes", MB)),
          ("all files, MB", scaled("disk_bytes", MB)))
ERASE = (("s until durable", "seconds"), ("rows/s", "rows_per_s"),
         ("s until space is back", "reclaim_seconds"),
         ("resident, MB", scaled("resident_bytes_max", MB)),
         ("versions, MB", scaled("version_bytes_max", MB)),
         ("data before, MB", scaled("data_bytes_before", MB)),
         ("after, MB", scaled("data_bytes", MB)),
         ("when space is back, MB", scaled("data_bytes_reclaimed", MB)),
         ("of it free, MB", scaled("reusable_bytes_reclaimed", MB)),
         ("all files, MB", scaled("disk_bytes", MB)))
PARTS = {"load": load,
         "files": lambda results: [files_ratios(results),
                                   table(results, "files", FILES, "lines: engine")],
         "beside": beside, "window": window,
         "ingest": lambda results: [table(results, "ingest", INGEST, "engine")],
         "erase": lambda results: [table(results, "erase", ERASE, "engine")]}


def report(results):
    """The whole report as Markdown."""
    parts = []
    for step, make in PARTS.items():
        if results.has(step):
            parts += [f"## {plan.TITLES[step]}", *make(results)]
    return "\n\n".join([*parts, *results.failures()]) + "\n"
