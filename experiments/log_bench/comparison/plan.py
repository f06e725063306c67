"""The plan of a comparison: configurations, durabilities, numbers of threads, and their duration."""
import dataclasses

OVERHEAD_SECONDS = 1.5  # of a run: loading, closing, opening again, verifying
DISK_BYTES = 4 << 30  # logs of the fastest engine in the longest run, and then some
DURABILITIES = ("sync", "async")
SERIES_THREADS = 8
SERIES_CHECKPOINT_MS = 5000
CHECKPOINT_BY_TIME = ("rocksdb", "wiredtiger")  # engines; all other ones do as their logs grow
SERIES_LOG_MIB = {"sync": 64, "async": 1024}  # Palimpsest checkpoints as the log grows: every few seconds


@dataclasses.dataclass(frozen=True)
class Config:
    """An engine, with the switches that are compared."""
    name: str
    engine: str
    flags: tuple = ()


PALIMPSEST = Config("palimpsest", "palimpsest")
# RocksDB and WiredTiger can be told which bytes of a value change; both ways are measured.
PEERS = (Config("rocksdb", "rocksdb"),
         Config("rocksdb, merge", "rocksdb", ("--delta=on",)),
         Config("wiredtiger", "wiredtiger"),
         Config("wiredtiger, modify", "wiredtiger", ("--delta=on",)),
         Config("lmdb", "lmdb"),
         Config("sqlite", "sqlite"))
CONFIGS = (PALIMPSEST, *PEERS)
ENGINES = ("palimpsest", "rocksdb", "wiredtiger", "lmdb", "sqlite")


@dataclasses.dataclass(frozen=True)
class Scale:
    rounds: int
    threads: tuple
    seconds: float
    warmup: float
    series_seconds: float
    flush_ms: int = 5


SCALES = {
    "quick": Scale(1, (1, 8), 1, 0.5, 4),
    "normal": Scale(3, (1, 2, 8, 32), 4, 1, 20),
}


@dataclasses.dataclass(frozen=True)
class Run:
    """One process."""
    config: Config
    durability: str
    threads: int
    repetition: int
    seconds: float
    warmup: float
    series: bool = False

    @property
    def label(self):
        kind = "series" if self.series else f"round {self.repetition}"
        return f"{self.durability}, {self.threads} threads, {self.config.name}, {kind}"

    @property
    def file_stem(self):
        name = self.config.name.replace(", ", "-")
        kind = "series" if self.series else str(self.repetition)
        return f"{self.durability}-{self.threads}-{name}-{kind}"

    def flags(self, scale):
        chosen = [*self.config.flags, f"--durability={self.durability}",
                  f"--threads={self.threads}", f"--seconds={self.seconds}",
                  f"--warmup={self.warmup}", f"--seed={self.repetition}"]
        if self.durability == "async":
            chosen.append(f"--flush_ms={scale.flush_ms}")
        if self.series:
            if self.config is PALIMPSEST:
                chosen.append(f"--log_mib={SERIES_LOG_MIB[self.durability]}")
            elif self.config.engine in CHECKPOINT_BY_TIME:
                chosen.append(f"--checkpoint_ms={SERIES_CHECKPOINT_MS}")
        return chosen


def configs_of(engines):
    return [config for config in CONFIGS if config.engine in engines]


def runs_of(scale, engines):
    """All runs, interleaved: A B C D A B C D, so that drift of the machine hits all; the long ones for
    the time series come last."""
    runs = []
    for repetition in range(1, scale.rounds + 1):
        for durability in DURABILITIES:
            for threads in scale.threads:
                runs += [Run(config, durability, threads, repetition, scale.seconds, scale.warmup)
                         for config in configs_of(engines)]
    for durability in DURABILITIES:
        runs += [Run(config, durability, SERIES_THREADS, 1, scale.series_seconds, scale.warmup, True)
                 for config in configs_of(engines) if not config.flags]
    return runs


def seconds_of(scale, engines):
    """An estimate of the time a comparison takes."""
    return sum(run.seconds + run.warmup + OVERHEAD_SECONDS for run in runs_of(scale, engines))
