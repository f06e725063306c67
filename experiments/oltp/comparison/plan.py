"""The elements of a comparison: workloads, configurations, scenarios, runs, and their duration.

scenarios.py lists them.
"""
import dataclasses

from comparison.goals import Flat, Goal, Share

MIB = 1 << 20

# Disk used for each byte of rows once loaded, with what compactions leave for a while. Measured with a
# few warehouses and rounded up.
DISK_FACTOR = {"palimpsest": 2.0, "lmdb": 1.6, "rocksdb": 2.0, "rocksdb_optimistic": 2.0,
               "wiredtiger": 2.0}
GROWTH_BYTES = 4 << 30  # of the copy that a run changes, its log included
GROWTH_BYTES_PER_S = 6 << 20  # beside that, of runs of minutes
# For estimates of time: bytes of rows loaded a second, bytes on disk copied.
LOAD_BYTES_PER_S = 60_000_000
COPY_BYTES_PER_S = 300_000_000
OVERHEAD_SECONDS = 2  # of a run: opening, closing, removing
ENGINES = ("palimpsest", "rocksdb", "rocksdb_optimistic", "wiredtiger", "lmdb")


@dataclasses.dataclass(frozen=True)
class Workload:
    """A driver, and the size of its data (from its README)."""
    name: str  # of the binary; with _peers for engines that are not ours
    scale_flag: str
    bytes_of_unit: int  # keys and rows
    bytes_of_all: int = 0  # once
    is_loaded: bool = True  # beforehand, and copied for each run; else the driver makes what it needs
    measures: tuple = ()  # of measures.py: columns of the table beside throughput


@dataclasses.dataclass(frozen=True)
class Config:
    """An engine, with the switches that are compared."""
    name: str
    engine: str
    isolation: str
    flags: tuple = ()
    threads_max: int = 1024


@dataclasses.dataclass(frozen=True)
class Case:
    """A variant of a scenario's runs: a row of its table."""
    title: str
    threads: int = 1
    durability: str = "async"
    flags: tuple = ()

    @property
    def name(self):
        values = [flag.partition("=")[2] for flag in self.flags]
        return "-".join([self.durability, str(self.threads), *values])


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A size of the data, and its runs."""
    name: str
    title: str
    workload: Workload
    scale: int
    memory_mib: int
    configs: tuple
    cases: tuple = (Case(""),)
    seconds: float = 0
    warmup: float = 0
    capped: bool = False  # memory of the process limited from outside, caches dropped before each run
    load_memory_mib: int = 0  # 0: memory_mib
    goals: tuple[Goal | Share, ...] = ()
    flat: Flat | None = None  # one long run, whose series is judged
    steps: tuple = ()  # configurations, each with something more than the one before; and what
    repetitions: int = 0  # 0: those of the scale
    in_default: bool = True  # else it is run if it is named, or with everything

    @property
    def data_bytes(self):
        return self.scale * self.workload.bytes_of_unit + self.workload.bytes_of_all

    @property
    def database(self):
        """Distinguishes its databases from those of other scenarios."""
        return (self.workload.name, self.scale, self.load_memory_mib or self.memory_mib)

    def engines(self, among):
        return [engine for engine in among if any(config.engine == engine for config in self.configs)]


@dataclasses.dataclass(frozen=True)
class Run:
    """One process."""
    scenario: Scenario
    config: Config
    case: Case
    repetition: int

    @property
    def row(self):
        return (self.scenario.name, self.case.name)

    @property
    def label(self):
        parts = [self.scenario.name, self.case.title, self.config.name,
                 f"repetition {self.repetition}"]
        return ", ".join(part for part in parts if part)

    @property
    def file_stem(self):
        name = self.config.name.replace(", ", "-").replace(" ", "-")
        return f"{self.scenario.name}/{self.case.name}-{name}-{self.repetition}"

    @property
    def flags(self):
        """All flags except the path and the files of the result."""
        sizes = [f"--{self.scenario.workload.scale_flag}={self.scenario.scale}",
                 f"--memory_mib={self.scenario.memory_mib}", *self.case.flags, *self.config.flags]
        if not self.scenario.workload.is_loaded:
            return sizes
        return [f"--engine={self.config.engine}", *sizes, f"--isolation={self.config.isolation}",
                f"--durability={self.case.durability}", f"--threads={self.case.threads}",
                f"--seconds={self.scenario.seconds}", f"--warmup={self.scenario.warmup}"]


@dataclasses.dataclass(frozen=True)
class Scale:
    repetitions: int
    scenarios: tuple
    minutes: float | None = None  # no run starts that would end later
    has_all_by_default: bool = False

    def chosen(self, names):
        """The scenarios of these names; without names the default ones."""
        return [scenario for scenario in self.scenarios
                if (scenario.name in names if names else
                    scenario.in_default or self.has_all_by_default)]


def cases(threads, durabilities=("async",)):
    return tuple(Case(f"{durability}, {count} thread{'s' if count > 1 else ''}", count, durability)
                 for durability in durabilities for count in threads)


def runs_of(scenario, repetitions, engines):
    """All runs of a scenario, interleaved: A B C D A B C D, so that drift of the machine hits all."""
    return [Run(scenario, config, case, repetition)
            for repetition in range(1, (scenario.repetitions or repetitions) + 1)
            for case in scenario.cases
            for config in scenario.configs
            if config.engine in engines and case.threads <= config.threads_max]


def run_seconds(run):
    """An estimate of the time of a run, from copying its data to removing it."""
    scenario = run.scenario
    copied = scenario.data_bytes * DISK_FACTOR[run.config.engine] / COPY_BYTES_PER_S
    return (scenario.warmup + scenario.seconds + OVERHEAD_SECONDS +
            (copied if scenario.workload.is_loaded else 0))


def load_seconds(scenario, engines):
    if not scenario.workload.is_loaded:
        return 0
    return len(scenario.engines(engines)) * scenario.data_bytes / LOAD_BYTES_PER_S


def estimates_of(scenarios, repetitions, engines):
    """The approximate time of each scenario, including loads that no earlier scenario has made."""
    before, estimates = None, []
    for scenario in scenarios:
        seconds = sum(map(run_seconds, runs_of(scenario, repetitions, engines)))
        if scenario.database != before:
            seconds += load_seconds(scenario, engines)
        before = scenario.database
        estimates.append(seconds)
    return estimates


def disk_bytes(scenario, engines):
    """Disk that a scenario takes: every engine's data, and one copy as it grows."""
    factors = [DISK_FACTOR[engine] for engine in scenario.engines(engines)]
    growth = GROWTH_BYTES + int(scenario.seconds * GROWTH_BYTES_PER_S)
    return int(scenario.data_bytes * (sum(factors) + max(factors, default=0))) + growth
