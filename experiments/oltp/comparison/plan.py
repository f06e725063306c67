"""What a comparison runs: scenarios, configurations, repetitions, and how long that takes."""
import dataclasses

MIB = 1 << 20
# As the workload says of itself (experiments/tpcc/README.md).
BYTES_OF_WAREHOUSE = 72_600_000
BYTES_OF_ITEMS = 7_500_000

# Disk used for each byte of rows once loaded, with what compactions leave for a while. Measured with a
# few warehouses and rounded up.
DISK_FACTOR = {"palimpsest": 2.0, "lmdb": 1.6, "rocksdb": 2.0, "rocksdb_optimistic": 2.0,
               "wiredtiger": 2.0}
GROWTH_BYTES = 4 << 30  # of the copy that a run changes, its log included
# Bytes of rows loaded a second, at the slow end, for the estimate of time.
LOAD_BYTES_PER_S = 25_000_000
COPY_BYTES_PER_S = 250_000_000
OVERHEAD_SECONDS = 3  # of a run: opening, closing, removing


@dataclasses.dataclass(frozen=True)
class Config:
    """An engine, with the switches that are compared."""
    name: str
    engine: str
    isolation: str
    flags: tuple = ()
    threads_max: int = 1024


# Each peer at the weakest isolation it has.
PALIMPSEST = Config("palimpsest", "palimpsest", "snapshot")
NO_VERSIONS = Config("palimpsest, no versions", "palimpsest", "none")
NO_CONFLICTS = Config("palimpsest, no conflicts", "palimpsest", "none", ("--write_conflicts=off",), 1)
PEERS = (Config("rocksdb", "rocksdb", "none"),
         Config("rocksdb, optimistic", "rocksdb_optimistic", "snapshot"),
         Config("wiredtiger", "wiredtiger", "snapshot"),
         Config("lmdb", "lmdb", "serializable"))
CONFIGS = (PALIMPSEST, NO_VERSIONS, NO_CONFLICTS, *PEERS)
ENGINES = ("palimpsest", "rocksdb", "rocksdb_optimistic", "wiredtiger", "lmdb")


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A size, and what is run on it."""
    name: str
    title: str
    warehouses: int
    memory_mib: int
    capped: bool  # memory of the process limited from outside, caches dropped before each run
    threads: tuple
    seconds: float
    warmup: float
    durabilities: tuple = ("async",)

    @property
    def data_bytes(self):
        return data_bytes(self.warehouses)


@dataclasses.dataclass(frozen=True)
class Run:
    """One process."""
    scenario: Scenario
    config: Config
    durability: str
    threads: int
    repetition: int

    @property
    def row(self):
        return (self.scenario.name, self.durability, self.threads)

    @property
    def label(self):
        return (f"{self.scenario.name}, {self.durability}, {self.threads} threads, "
                f"{self.config.name}, repetition {self.repetition}")

    @property
    def file_stem(self):
        name = self.config.name.replace(", ", "-").replace(" ", "-")
        return f"{self.scenario.name}/{self.durability}-{self.threads}-{name}-{self.repetition}"

    @property
    def flags(self):
        """But for the path and the files of the result."""
        return [f"--engine={self.config.engine}", f"--warehouses={self.scenario.warehouses}",
                f"--memory_mib={self.scenario.memory_mib}", *self.config.flags,
                f"--isolation={self.config.isolation}", f"--durability={self.durability}",
                f"--threads={self.threads}", f"--seconds={self.scenario.seconds}",
                f"--warmup={self.scenario.warmup}"]


@dataclasses.dataclass(frozen=True)
class Scale:
    repetitions: int
    scenarios: tuple
    minutes: float | None = None  # no run starts that would end later


def data_bytes(warehouses):
    return warehouses * BYTES_OF_WAREHOUSE + BYTES_OF_ITEMS


def in_memory(warehouses, memory_mib, threads, seconds, warmup, durabilities=("async",)):
    return Scenario("in-memory", f"in memory: {warehouses} warehouses, {memory_mib} MiB", warehouses,
                    memory_mib, False, threads, seconds, warmup, durabilities)


def beyond_memory(warehouses, times, threads, seconds, warmup):
    """So many times as much data as memory."""
    memory_mib = round(data_bytes(warehouses) / times / MIB)
    return Scenario(f"{times}-times-memory",
                    f"{times} times memory: {warehouses} warehouses, {memory_mib} MiB", warehouses,
                    memory_mib, True, threads, seconds, warmup)


SCALES = {
    "quick": Scale(1, (in_memory(2, 1024, (1, 2), 2, 1),
                       beyond_memory(2, 2.5, (2,), 2, 2), beyond_memory(2, 8, (2,), 2, 2))),
    "normal": Scale(3, (in_memory(10, 4096, (1, 2), 10, 5),
                        beyond_memory(10, 2.5, (2,), 12, 8), beyond_memory(10, 10, (2,), 12, 8)),
                    minutes=40),
    "full": Scale(5, (in_memory(30, 8192, (1, 2, 4), 60, 30, ("async", "sync")),
                      beyond_memory(30, 2.5, (1, 2, 4), 120, 60),
                      beyond_memory(30, 10, (1, 2, 4), 120, 60))),
}


def configs_of(scenario, threads, engines):
    """What is compared there. Without conflicts is one thread's business, and that of what memory
    holds: what claims cost is not seen beside reads from a disk."""
    return [config for config in CONFIGS
            if config.engine in engines and threads <= config.threads_max and
            not (config is NO_CONFLICTS and scenario.capped)]


def runs_of(scenario, repetitions, engines):
    """All runs of a scenario, interleaved: A B C D A B C D, so that drift of the machine hits all."""
    return [Run(scenario, config, durability, threads, repetition)
            for repetition in range(1, repetitions + 1)
            for durability in scenario.durabilities
            for threads in scenario.threads
            for config in configs_of(scenario, threads, engines)]


def run_seconds(run):
    """An estimate of the time of a run, from copying its data to removing it."""
    copied = run.scenario.data_bytes * DISK_FACTOR[run.config.engine] / COPY_BYTES_PER_S
    return run.scenario.warmup + run.scenario.seconds + copied + OVERHEAD_SECONDS


def seconds_of(scenario, repetitions, engines):
    """An estimate of the time a scenario takes, loading included."""
    loads = len(engines) * scenario.data_bytes / LOAD_BYTES_PER_S
    return loads + sum(run_seconds(run) for run in runs_of(scenario, repetitions, engines))


def disk_bytes(scenario, engines):
    """Disk that a scenario takes: every engine's data, and one copy as it grows."""
    factors = [DISK_FACTOR[engine] for engine in engines]
    return int(scenario.data_bytes * (sum(factors) + max(factors))) + GROWTH_BYTES
