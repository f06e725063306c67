"""The plan of a comparison: scenarios, workloads, configurations, and their duration."""
import dataclasses

MIB = 1 << 20
KEY_BYTES = 8
VALUE_BYTES = 120
PAGE_KIB = 4
RECORD_BYTES = KEY_BYTES + VALUE_BYTES

# Disk used per byte of records, by the time a scenario ends: page headers and fill, copies on write,
# compactions under way. Measured at small scale and rounded up.
DISK_FACTOR = {"palimpsest": 3.0, "tree": 2.0, "lmdb": 3.5, "rocksdb": 2.5, "wiredtiger": 3.0}
# Records loaded a second, at the slow end, for the estimate of time.
LOAD_RATE = {"palimpsest": 300_000, "tree": 300_000, "lmdb": 800_000, "rocksdb": 250_000, "wiredtiger": 300_000}
OVERHEAD_SECONDS = 0.7  # of a run: starting, opening, closing


@dataclasses.dataclass(frozen=True)
class Config:
    """An engine, with the switches that are compared."""
    name: str
    engine: str
    flags: tuple = ()


PALIMPSEST = Config("palimpsest", "palimpsest")
TREE = Config("bare tree", "tree")  # without log and transactions: what the API costs
NO_DOUBLE_WRITE = Config("bare tree, single write", "tree", ("--double_write=off",))
OURS = (PALIMPSEST, TREE, NO_DOUBLE_WRITE)
PEERS = (Config("lmdb", "lmdb"), Config("rocksdb", "rocksdb"), Config("wiredtiger", "wiredtiger"))


@dataclasses.dataclass(frozen=True)
class Workload:
    """A mode and its numbers of threads, and whether it writes pages."""
    mode: str
    threads: tuple
    writes: bool = False


@dataclasses.dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    records: int
    memory_mib: int
    capped: bool  # memory of the process limited from outside, caches dropped before each run
    seconds: float
    warmup: float
    warmup_threads: int
    workloads: tuple

    @property
    def payload_bytes(self):
        return self.records * RECORD_BYTES

    @property
    def prefill_seconds(self):
        """The scan that brings all data into memory, at the slow end."""
        return 0 if self.capped else self.records / 4_000_000


@dataclasses.dataclass(frozen=True)
class Run:
    """One process, or one probe of the device if config is None."""
    scenario: Scenario
    workload: Workload
    threads: int
    config: Config | None
    repetition: int

    @property
    def label(self):
        return (f"{self.scenario.name}, {self.workload.mode}, {self.threads} threads, "
                f"{self.config.name if self.config else 'fio'}, repetition {self.repetition}")

    @property
    def file_stem(self):
        name = self.config.name.replace(", ", "-").replace(" ", "-") if self.config else "fio"
        return (f"{self.scenario.name}/{self.workload.mode}-{self.threads}-{name}-"
                f"{self.repetition}")


def in_memory(records, memory_mib, seconds, warmup):
    return Scenario("in-memory", f"In memory: {records:,} records, {memory_mib} MiB", records,
                    memory_mib, False, seconds, warmup, 0,
                    (Workload("lookup", (1, 2)), Workload("scan", (1,))))


def beyond_memory(memory_mib, seconds, warmup, threads, mixed_threads):
    records = 4 * memory_mib * MIB // RECORD_BYTES
    return Scenario("beyond-memory",
                    f"Four times memory: {records:,} records, {memory_mib} MiB", records,
                    memory_mib, True, seconds, warmup, 32,
                    (Workload("lookup", threads), Workload("mixed", mixed_threads, writes=True)))


SCALES = {
    "quick": (3, (in_memory(300_000, 128, 0.5, 0.1), beyond_memory(48, 0.7, 0.5, (8,), (8,)))),
    "normal": (3, (in_memory(10_000_000, 4096, 5, 2),
                   beyond_memory(512, 5, 5, (1, 8, 32), (1, 8, 32)))),
    "full": (3, (in_memory(10_000_000, 4096, 10, 3),
                 beyond_memory(1024, 10, 10, (1, 2, 8, 16, 32, 64), (1, 2, 8, 16, 32, 64)))),
}


def configs_of(workload, engines):
    """The configurations of a workload. Double-write matters only where pages are written."""
    return [config for config in (*OURS, *PEERS) if config.engine in engines and
            (workload.writes or config != NO_DOUBLE_WRITE)]


def runs_of(scenario, repetitions, engines, with_fio):
    """All runs of a scenario, interleaved: A B C D A B C D, so that drift of the machine hits all."""
    runs = []
    for repetition in range(1, repetitions + 1):
        for workload in scenario.workloads:
            for threads in workload.threads:
                probe = with_fio and scenario.capped and not workload.writes
                configs = configs_of(workload, engines) + ([None] if probe else [])
                runs += [Run(scenario, workload, threads, config, repetition)
                         for config in configs]
    return runs


def seconds_of(scenario, repetitions, engines, with_fio):
    """An estimate of the time a scenario takes."""
    loads = sum(scenario.records / LOAD_RATE[engine] + 2 for engine in engines)
    each = scenario.seconds + scenario.warmup + scenario.prefill_seconds + OVERHEAD_SECONDS
    fio_file = scenario.payload_bytes / (300 * MIB) if with_fio and scenario.capped else 0
    return loads + fio_file + each * len(runs_of(scenario, repetitions, engines, with_fio))


def disk_bytes(scenario, engines, with_fio):
    """Disk that a scenario occupies at its end."""
    factor = sum(DISK_FACTOR[engine] for engine in engines)
    return int(scenario.payload_bytes * (factor + (1 if with_fio and scenario.capped else 0)))
