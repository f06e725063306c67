"""The scenarios: what is compared, at which size, and with which goals."""
from comparison.goals import Flat, Goal, Share
from comparison.plan import MIB, Case, Config, Scale, Scenario, Workload, cases

# From the workloads' READMEs.
TPCC = Workload("tpcc", "warehouses", 72_600_000, 7_500_000,
                measures=("new_order_p50_us", "new_order_p99_us", "conflicts_per_commit",
                          "log_bytes_per_commit", "read_mb_per_s", "written_mb_per_s", "rss_mib_max"))
TATP = Workload("tatp", "subscribers", 229,
                measures=("get_subscriber_data_p50_us", "get_subscriber_data_p99_us",
                          "update_location_p50_us", "update_location_p99_us", "log_bytes_per_commit",
                          "rss_mib_max"))
QUEUE = Workload("queue", "jobs", 112,
                 measures=("take_p50_us", "take_p99_us", "conflicts_per_commit", "rss_mib_max"))
SCANS = Workload("scan_bench", "records", 100, is_loaded=False)

PALIMPSEST = Config("palimpsest", "palimpsest", "snapshot")
SERIALIZABLE = Config("palimpsest, serializable", "palimpsest", "serializable")
READ_COMMITTED = Config("palimpsest, read committed", "palimpsest", "read_committed")
UNVERSIONED = Config("palimpsest, snapshots without versions", "palimpsest", "snapshot",
                     ("--versions=off",), 1)
NONE = Config("palimpsest, none", "palimpsest", "none")
NO_CONFLICTS = Config("palimpsest, no conflicts", "palimpsest", "none", ("--write_conflicts=off",), 1)
BESIDE_READER = Config("palimpsest, beside a reader", "palimpsest", "snapshot", ("--long_reader",))
SCAN = Config("palimpsest", "palimpsest", "by turns", ("--rounds=24",))
# Each peer at the weakest isolation it has.
PEERS = (Config("rocksdb", "rocksdb", "none"),
         Config("wiredtiger", "wiredtiger", "snapshot"),
         Config("lmdb", "lmdb", "serializable"))
OPTIMISTIC = Config("rocksdb, optimistic", "rocksdb_optimistic", "snapshot")

# Umbra-MVCC, table 1: each step adds something to the one before.
STEPS = ((NO_CONFLICTS, "atomic and logged; no conflicts noticed, no snapshots"),
         (NONE, "+ records claimed: entries, mapping tables, writers' marks"),
         (UNVERSIONED, "+ snapshots: the active table at begin and commit; reads ask for versions"),
         (PALIMPSEST, "+ versions: `snapshot`"))


def mib_of(scale, times, workload=TPCC):
    """The memory with which the data is so many times as large."""
    return round((scale * workload.bytes_of_unit + workload.bytes_of_all) / times / MIB)


def isolation(warehouses, memory_mib, seconds, warmup):
    return Scenario("isolation", f"what isolation costs: {warehouses} warehouses in {memory_mib} MiB",
                    TPCC, warehouses, memory_mib,
                    tuple(config for config, _ in STEPS) + (READ_COMMITTED,), cases((1,)), seconds,
                    warmup, steps=STEPS, goals=(Goal(PALIMPSEST.name, 0.85, NO_CONFLICTS.name),))


def in_memory(warehouses, memory_mib, all_cases, seconds, warmup, more=()):
    return Scenario("in-memory", f"in memory: {warehouses} warehouses, {memory_mib} MiB", TPCC,
                    warehouses, memory_mib, (PALIMPSEST, SERIALIZABLE, NONE, *PEERS, *more),
                    all_cases, seconds, warmup)


def long_reader(warehouses, memory_mib, seconds, warmup, turns):
    """Each run is compared with itself: the reader is alternately open and closed for so many seconds."""
    beside = Config("palimpsest, beside a reader by turns", "palimpsest", "snapshot",
                    ("--long_reader", f"--reader_turns={turns}"))
    return Scenario("long-reader",
                    f"beside a reader that does not end: {warehouses} warehouses in {memory_mib} MiB",
                    TPCC, warehouses, memory_mib, (beside,), cases((2,)), seconds, warmup,
                    goals=(Share(beside.name, 0.9),))


def beyond_memory(warehouses, times, threads, seconds, warmup, load_times=None, more=(), name="",
                  in_default=True):
    """So many times as much data as memory; loaded as for `load_times`."""
    memory_mib = mib_of(warehouses, times)
    return Scenario(name or f"{times}-times-memory",
                    f"{times} times memory: {warehouses} warehouses, {memory_mib} MiB", TPCC,
                    warehouses, memory_mib, (PALIMPSEST, NONE, *PEERS, *more), cases(threads), seconds,
                    warmup, capped=True,
                    load_memory_mib=mib_of(warehouses, load_times) if load_times else 0,
                    in_default=in_default)


def of_size(name, warehouses, memory_mib, seconds, warmup, rate_least=0):
    """Somewhat more data than memory; snapshots should cost little."""
    goals = [Goal(PALIMPSEST.name, 0.9, NONE.name),
             *(Goal(PALIMPSEST.name, 1.0, peer.name) for peer in PEERS)]
    if rate_least:
        goals.append(Goal(PALIMPSEST.name, rate_least))
    return Scenario(name, f"{warehouses} warehouses in {memory_mib} MiB", TPCC, warehouses, memory_mib,
                    (PALIMPSEST, NONE, *PEERS), cases((2,)), seconds, warmup, capped=True,
                    goals=tuple(goals))


def tatp(subscribers, memory_mib, threads, seconds, warmup):
    return Scenario("tatp", f"TATP: {subscribers:,} subscribers in {memory_mib} MiB", TATP, subscribers,
                    memory_mib, (PALIMPSEST, *PEERS),
                    tuple(Case(f"{text}, {count} thread{'s' if count > 1 else ''}", count,
                               flags=(f"--keys={keys}",))
                          for keys, text in (("uniform", "uniform keys"),
                                             ("nonuniform", "non-uniform keys"))
                          for count in threads), seconds, warmup)


def scans(records, memory_mib, seconds):
    """`seconds`: for the estimate; the driver makes so many rounds."""
    return Scenario("scan", f"scans of {records:,} rows of 100 bytes in {memory_mib} MiB", SCANS,
                    records, memory_mib, (SCAN,), seconds=seconds,
                    goals=(Goal("snapshot", 0.97, "none"), Goal("beside_versions", 0.8, "snapshot"),
                           Goal("old_reader", 0.8, "snapshot")))


def version_memory(warehouses, times, seconds, warmup):
    """Umbra-MVCC, 4.3.2 and figure 7. Throughput may fall as the data grows: by its reads."""
    memory_mib = mib_of(warehouses, times)
    return Scenario("version-memory",
                    f"memory of versions: {warehouses} warehouses in {memory_mib} MiB",
                    TPCC, warehouses, memory_mib, (PALIMPSEST,), cases((2,)), seconds, warmup,
                    capped=True, flat=Flat(throughput_least=0.75), repetitions=1, in_default=False)


def queue(jobs, memory_mib, seconds, warmup):
    return Scenario("queue",
                    f"beside a reader that never ends: a queue of {jobs:,} jobs in {memory_mib} MiB",
                    QUEUE, jobs, memory_mib, (BESIDE_READER,), cases((2,)), seconds, warmup,
                    flat=Flat(), repetitions=1, in_default=False)


SCALES = {
    "quick": Scale(1, (isolation(2, 1024, 1, 0.5), in_memory(2, 1024, cases((1, 2)), 1, 0.5),
                       long_reader(2, 1024, 2.2, 0.5, 0.5),
                       beyond_memory(2, 2.5, (2,), 1, 1), beyond_memory(2, 8, (2,), 1, 1, 2.5),
                       of_size("more-than-memory", 2, 110, 1, 1),
                       tatp(20_000, 64, (2,), 1, 0.5), scans(50_000, 64, 2),
                       version_memory(2, 2.5, 5, 1), queue(1_000, 64, 5, 1)),
                   has_all_by_default=True),
    "normal": Scale(3, (isolation(10, 4096, 8, 3), in_memory(10, 4096, cases((1, 2)), 6, 3),
                        long_reader(10, 4096, 34, 2, 4),
                        beyond_memory(10, 2.5, (2,), 8, 5),
                        beyond_memory(10, 2.5, (8,), 8, 5, name="2.5-times-memory-8-threads",
                                      in_default=False),
                        beyond_memory(10, 10, (2,), 8, 5, 2.5),
                        of_size("20-in-1-gib", 20, 1024, 8, 6, 10_000),
                        tatp(1_000_000, 2048, (2,), 4, 1), scans(2_000_000, 2048, 12),
                        version_memory(10, 2.5, 600, 10), queue(10_000, 1024, 600, 5)),
                    minutes=40),
    "full": Scale(5, (isolation(30, 8192, 60, 30),
                      in_memory(30, 8192, cases((1, 2, 4), ("async", "sync")), 60, 30, (OPTIMISTIC,)),
                      long_reader(30, 8192, 85, 10, 10),
                      beyond_memory(30, 2.5, (1, 2, 4), 120, 60, more=(OPTIMISTIC,)),
                      beyond_memory(30, 10, (1, 2, 4), 120, 60, 2.5, (OPTIMISTIC,)),
                      of_size("20-in-1-gib", 20, 1024, 60, 30, 10_000),
                      tatp(1_000_000, 2048, (1, 2, 4), 30, 10), scans(10_000_000, 4096, 60),
                      version_memory(30, 2.5, 600, 30), queue(10_000, 1024, 600, 5)),
                  has_all_by_default=True),
}
