"""The plan of a comparison: variants of each part, rounds, their duration and disk space."""
import dataclasses

from comparison import files
from comparison.steps import Run, Step, Variant

MIB = 1 << 20
OFF, SNAPSHOT, ONE_TRANSACTION, BULK = "off", "snapshot", "snapshot, one a table", "bulk"
NOTHING, TRANSACTIONS, BULKS = "nothing else", "transactions", "bulks"
OURS = ("palimpsest_bulk", "palimpsest_keys", "palimpsest_transactions")
PEERS = ("rocksdb", "wiredtiger", "lmdb")
RANGE_ENGINES = OURS + PEERS
ENGINES = tuple(dict.fromkeys(RANGE_ENGINES + files.ENGINES))
TITLES = {"load": "TPC-H's tables into an empty database",
          "beside": "Reading a table while all of it is updated, over and over",
          "window": "Before, during and after one update of all rows of a table",
          "files": "A CSV file into an empty database",
         "ingest": "Sorted rows into an empty store",
          "erase": "The lower half of the rows out again"}
PARTS = ("load", "files", "beside", "window", "range")  # as they are run: range is ingest, then erase

# For the estimate of time, at the slow end.
TPCH_ROWS = 8_660_000  # at scale factor 1
LOAD_ROWS_PER_S = 330_000
UPDATE_ROWS_PER_S = 150_000  # in a bulk, beside other work
RANGE_ROWS_PER_S = {engine: 300_000 if engine in OURS else 700_000 for engine in RANGE_ENGINES}
OVERHEAD_SECONDS = 2  # of a process: opening, closing, verifying, removing
# For the estimate of disk.
LOAD_BYTES = 3 << 30  # at scale factor 1, without the log
ROW_BYTES = 100
RANGE_FACTOR = 3  # of the bytes of the rows: files, and what compactions write
BESIDE_FACTOR = 5  # updated rows may take twice their space


@dataclasses.dataclass(frozen=True)
class Scale:
    rounds: int
    scale_factor: float  # of TPC-H
    records: int  # of the table that is read and updated
    seconds: float  # measured of each run, or of each phase around an update
    warmup: float
    range_records: int  # that are ingested; of these half is erased
    minutes: float  # no run starts that would end later
    files: files.FilesScale

    @property
    def load_memory_mib(self):
        return max(512, round(4096 * self.scale_factor))


SCALES = {
    "quick": Scale(1, 0.05, 200_000, 2, 0.5, 400_000, 5, files.QUICK),
    "normal": Scale(3, 1, 1_000_000, 6, 2, 3_000_000, 30, files.NORMAL),
}


def load_variant(scale, name, threads, flags):
    steps = (Step("load", "tpch_load",
                  (f"--scale_factor={scale.scale_factor}", f"--memory_mib={scale.load_memory_mib}",
                   f"--threads={threads}", *flags)),)
    rows = TPCH_ROWS * scale.scale_factor
    return Variant("load", name, f"{threads} thread{'s' if threads > 1 else ''}", steps,
                   rows / LOAD_ROWS_PER_S + OVERHEAD_SECONDS)


def load_variants(scale):
    memory = scale.load_memory_mib
    one = ("--mode=snapshot", "--single_transaction", f"--version_mib={memory // 2}",
           f"--log_mib={2 * memory}")
    modes = ((OFF, ("--mode=none",)), (SNAPSHOT, ("--mode=snapshot",)), (ONE_TRANSACTION, one),
             (BULK, ("--mode=bulk",)))
    # With a transaction a table the largest table is one thread's: two gain a third at most.
    return [load_variant(scale, name, threads, flags) for threads in (1, 2)
            for name, flags in modes if threads == 1 or name != ONE_TRANSACTION]


def bulk_bench(name, scale, *flags):
    return (Step(name, "bulk_bench", (f"--records={scale.records}", f"--seconds={scale.seconds}",
                                      f"--warmup={scale.warmup}", *flags)),)


def beside_variants(scale):
    updates = {NOTHING: "none", TRANSACTIONS: "transactions", BULKS: "bulk"}
    return [Variant("beside", name, row,
                    bulk_bench("beside", scale, f"--read={read}", f"--update={update}"),
                    scale.warmup + scale.seconds + OVERHEAD_SECONDS +
                    scale.records / LOAD_ROWS_PER_S)
            for read, row in (("scan", "full scans"), ("get", "reads by key"))
            for name, update in updates.items()]


def window_variants(scale):
    return [Variant("window", name, "reads by key",
                    bulk_bench("window", scale, "--read=get", f"--update={update}", "--once",
                               "--other_writers=1"),
                    scale.warmup + 2 * scale.seconds + OVERHEAD_SECONDS +
                    scale.records / UPDATE_ROWS_PER_S)
            for name, update in ((BULKS, "bulk"), (TRANSACTIONS, "transactions"))]


def range_variant(scale, engine):
    binary = "range_bench" if engine in OURS else "range_bench_peers"
    flags = (f"--engine={engine}", f"--records={scale.range_records}")
    steps = []
    for operation in ("ingest", "erase"):
        steps.append(Step(operation, binary, (*flags, f"--operation={operation}")))
        if engine in OURS:  # how many pages are free, and whether all is sound
            steps.append(Step(f"check_{operation}", "palimpsest", ("check", "--json")))
    return Variant("range", engine, "range", tuple(steps),
                   2 * scale.range_records / RANGE_ROWS_PER_S[engine] +
                   len(steps) * OVERHEAD_SECONDS)


def variants_of(part, scale, engines):
    if part == "range":
        return [range_variant(scale, engine) for engine in RANGE_ENGINES if engine in engines]
    if part == "files":
        return files.variants(scale.files, engines)
    return {"load": load_variants, "beside": beside_variants, "window": window_variants}[part](scale)


def runs_of(part, scale, engines):
    """All runs of a part, interleaved: A B C A B C, so that drift of the machine hits all."""
    return [Run(variant, repetition) for repetition in range(1, scale.rounds + 1)
            for variant in variants_of(part, scale, engines) if repetition <= variant.rounds_max]


def seconds_of(part, scale, engines):
    """An estimate of the time a part takes."""
    before = files.seconds_of_inputs(scale.files) if part == "files" else 0
    return before + sum(run.variant.seconds for run in runs_of(part, scale, engines))


def memory_bytes(scale):
    """The memory that a machine needs for such a load."""
    return (scale.load_memory_mib + 1024) * MIB


def disk_bytes(parts, scale):
    """Disk that the largest of these parts takes: each run's data is removed after it."""
    log = max(256 * MIB, 2 * scale.load_memory_mib * MIB)
    needed = {"load": LOAD_BYTES * scale.scale_factor + log,
              "beside": BESIDE_FACTOR * scale.records * ROW_BYTES + 1024 * MIB,
              "files": files.disk_bytes(scale.files),
              "range": RANGE_FACTOR * scale.range_records * ROW_BYTES + 1024 * MIB}
    needed["window"] = needed["beside"]
    return int(max(needed[part] for part in parts))
