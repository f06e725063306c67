"""The part `files`: loads a CSV file of TPC-H's lineitem into an empty database, with the same memory for every
engine. The files, the runs, and their duration."""
import dataclasses
import os
import sys

from comparison.steps import Step, Variant

FILES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                     "files")
sys.path.append(FILES)
import loaders  # noqa: E402

MIB = 1 << 20
SORTED, SHUFFLED, TENFOLD = "sorted", "shuffled", "ten times the memory"
INPUTS = (SORTED, SHUFFLED, TENFOLD)
PALIMPSEST, PARSER, DEVICE = "palimpsest", "parser", "device"
PEERS = ("rocksdb", "wiredtiger", "lmdb")  # by csv_load_peers
POSTGRESQL = ("postgresql_unlogged", "postgresql_logged", "postgresql_key_last")
DUCKDB = ("duckdb", "duckdb_no_key")
DUMP = "palimpsest_dump"
ENGINES = (PALIMPSEST, *PEERS, "sqlite", *DUCKDB, *POSTGRESQL, PARSER, DEVICE, DUMP)
CSV_BYTES = 743e6  # at scale factor 1
DISK_FACTOR = 6  # of the file: itself, its rows, what sorts and compactions and a log of all take
# For the estimate of time, at the slow end: MB/s of each input.
MB_PER_S = {PALIMPSEST: (80, 50, 50), "rocksdb": (50, 35, 30), "wiredtiger": (45, 15, 5),
            "lmdb": (50, 20, 5), "sqlite": (25, 10, 3), "postgresql_unlogged": (30, 25, 18),
            "postgresql_logged": (30, 25, 12), "postgresql_key_last": (30, 25, 20),
            "duckdb": (90, 60, 20), "duckdb_no_key": (120, 120, 60),
            PARSER: (120, 120, 120), DEVICE: (150, 150, 150), DUMP: (60, 40, 40)}
OVERHEAD_SECONDS = 1.5  # of a process: verifying, removing
GENERATED_MB_PER_S = 80


@dataclasses.dataclass(frozen=True)
class FilesScale:
    """How much is loaded, and with how much memory."""
    rounds: int
    factor: float  # of TPC-H
    memory_mib: int
    tenfold_factor: float
    tenfold_memory_mib: int
    # With ten times the memory: one round, without the engines that would take minutes.
    tenfold_engines: tuple
    # Not in runs of all parts, for time: --csv_factor measures them.
    left_out: tuple = (*DUCKDB, DUMP)

    def factor_of(self, name):
        return self.tenfold_factor if name == TENFOLD else self.factor

    def memory_mib_of(self, name):
        return self.tenfold_memory_mib if name == TENFOLD else self.memory_mib

    def engines_of(self, name):
        if name == TENFOLD:
            return self.tenfold_engines
        return tuple(engine for engine in ENGINES if engine not in self.left_out)

    def csv_mb(self, name):
        return CSV_BYTES * self.factor_of(name) / 1e6


# 64 MiB are the least that `palimpsest load` takes.
QUICK = FilesScale(1, 0.04, 64, 0.91, 64, (PALIMPSEST,))
NORMAL = FilesScale(2, 0.24, 128, 0.91, 64, (PALIMPSEST, "rocksdb", "postgresql_unlogged",
                                             "postgresql_key_last", PARSER, DEVICE))


def of_factor(scale, factor):
    """Files of that scale factor, sorted and shuffled, with a quarter of a gigabyte of memory."""
    return dataclasses.replace(scale, factor=factor, memory_mib=256, tenfold_engines=(), left_out=())


def file_name(name):
    return name.replace(" ", "-") + ".csv"


def missing(engine, directory):
    """Why an engine cannot be measured on data below an existing directory, or None."""
    return loaders.missing(engine, directory) if engine in ENGINES else None


def input_flags(scale, name):
    """Of lineitem_csv, which makes the file."""
    return (f"--scale_factor={scale.factor_of(name)}",
            f"--order={'sorted' if name == SORTED else 'shuffled'}")


def seconds_of_inputs(scale):
    return sum(scale.csv_mb(name) for name in INPUTS) / GENERATED_MB_PER_S


def variant(scale, name, engine):
    flags = (f"--engine={engine}", f"--memory_mib={scale.memory_mib_of(name)}")
    if engine in PEERS:
        step = Step("files", "csv_load_peers", (*flags, f"--sorted={str(name == SORTED).lower()}"), name)
    else:
        step = Step("files", "load.py", flags, name)
    rate = MB_PER_S[engine][INPUTS.index(name)]
    return Variant("files", engine, name, (step,), scale.csv_mb(name) / rate + OVERHEAD_SECONDS,
                   rounds_max=1 if name == TENFOLD else scale.rounds)


def variants(scale, engines):
    return [variant(scale, name, engine) for name in INPUTS for engine in ENGINES
            if engine in engines and engine in scale.engines_of(name)]


def disk_bytes(scale):
    inputs = sum(scale.csv_mb(name) for name in INPUTS)
    return (inputs + DISK_FACTOR * max(scale.csv_mb(name) for name in INPUTS)) * 1e6 + 1024 * MIB
