"""The named experiments: a workload's driver, its flags, and the flags with several values, of which every
combination is run."""
import dataclasses
import itertools
import math

from common.comparisons import Failure

RUNNERS_OWN = ("path", "json", "series")  # flags of a driver
AT_LEAST = {"seconds": 0.01, "warmup": 0, "memory_mib": 1}  # that it assumes


@dataclasses.dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    workload: str  # name of the driver's binary; with _peers for engines that are not ours
    scale_flag: str
    flags: dict  # name -> value, or a tuple of values: a variant for each
    repetitions: int = 3
    capped: bool = False  # memory of the process limited from outside, caches dropped before each run

    def with_flags(self, changes):
        return dataclasses.replace(self, flags={**self.flags, **changes})

    def varying(self):
        """Names of the flags that have several values, in their order."""
        return [name for name, value in self.flags.items() if isinstance(value, tuple)]

    def variants(self):
        """All combinations: dictionaries of every flag."""
        names = self.varying()
        for values in itertools.product(*(self.flags[name] for name in names)):
            yield {**self.flags, **dict(zip(names, values))}

    def variant_name(self, flags):
        """The flags that distinguish a variant: "engine=lmdb threads=2"."""
        return " ".join(f"{name}={flags[name]}" for name in self.varying()) or "all"


def tpcc(name, title, flags, **others):
    defaults = {"engine": "palimpsest", "warehouses": 10, "memory_mib": 4096, "threads": 2,
                "seconds": 30, "warmup": 10}
    return Experiment(name, title, "tpcc", "warehouses", {**defaults, **flags}, **others)


def tatp(name, title, flags, **others):
    defaults = {"engine": "palimpsest", "subscribers": 1_000_000, "memory_mib": 2048, "threads": 2,
                "keys": "uniform", "seconds": 30, "warmup": 10}
    return Experiment(name, title, "tatp", "subscribers", {**defaults, **flags}, **others)


EXPERIMENTS = {experiment.name: experiment for experiment in (
    tpcc("tpcc-short", "shows in seconds that everything works",
         {"warehouses": 1, "memory_mib": 256, "seconds": 1, "warmup": 0.5}, repetitions=2),
    tpcc("tpcc-in-memory", "all data in memory", {"threads": (1, 2)}),
    tpcc("tpcc-beyond-memory", "data 2.5 and 10 times the memory",
         {"memory_mib": (280, 70), "seconds": 60, "warmup": 30}, capped=True),
    tpcc("tpcc-durability", "what waiting for the disk costs",
         {"durability": ("async", "sync"), "threads": (1, 2, 8)}),
    tpcc("tpcc-arrivals", "latency beside the rate of arrivals",
         {"rate": (500, 1000, 2000, 4000, 8000), "threads": 8}),
    tpcc("tpcc-hours", "what changes with time: memory, disk, latency",
         {"memory_mib": 512, "seconds": 3600, "warmup": 60, "sample_ms": 1000}, repetitions=1),
    tatp("tatp-short", "shows in seconds that everything works",
         {"subscribers": 20_000, "memory_mib": 64, "seconds": 1, "warmup": 0.5}, repetitions=2),
    tatp("tatp-in-memory", "all data in memory, both choices of subscribers",
         {"threads": (1, 2), "keys": ("uniform", "nonuniform")}),
    tatp("tatp-beyond-memory", "data, in pages, 2.5 and 10 times the memory",
         {"memory_mib": (160, 40), "seconds": 60, "warmup": 30}, capped=True),
)}


def find(name):
    if name not in EXPERIMENTS:
        raise Failure(f"there is no experiment {name}; there are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


def parse_change(text):
    """A flag and its value, or its values, from "threads=1,2,8"."""
    name, _, values = text.partition("=")
    chosen = tuple(values.split(","))
    if not name or "" in chosen or len(set(chosen)) < len(chosen):
        raise Failure(f"{text}: a flag and its values are written threads=1,2,8")
    if name in RUNNERS_OWN:
        raise Failure(f"{text}: --{name} is chosen for each run")
    for value in chosen if name in AT_LEAST else ():
        if not is_number_from(value, AT_LEAST[name]):
            raise Failure(f"{text}: {name} is a number from {AT_LEAST[name]:g} on")
    return name, chosen if len(chosen) > 1 else chosen[0]


def parse_changes(texts):
    """Flags and their values by name."""
    changes = dict(map(parse_change, texts))
    if len(changes) < len(texts):
        raise Failure("--set: a flag is given once; several values are written threads=1,2,8")
    return changes


def is_number_from(text, least):
    try:
        return least <= float(text) < math.inf
    except ValueError:
        return False
