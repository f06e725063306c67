"""Plots of a set, if matplotlib is installed."""
import importlib.util
import os

from common.comparisons import Failure
from runner import record


# Transactions whose latency is drawn: those that the workload has.
DRAWN = (("new_order_p99_us", "New-Order"), ("update_location_p99_us", "UPDATE_LOCATION"))


def available():
    return importlib.util.find_spec("matplotlib") is not None


def middle_runs(result_set):
    """variant -> name of the run whose throughput is the median of its repetitions."""
    by_variant = {}
    for line in result_set.lines():
        by_variant.setdefault(line["variant"], []).append(line)
    return {variant: sorted(lines, key=lambda line: float(line["tps"]))[len(lines) // 2]["run"]
            for variant, lines in by_variant.items()}


def series(result_set, run, columns):
    """Columns of a run's timeseries.csv as lists of numbers; an empty field is left out of all."""
    lines = record.read_lines(os.path.join(result_set.path, run, "timeseries.csv"))
    whole = [line for line in lines if all(line.get(column) for column in columns)]
    return [[float(line[column]) for line in whole] for column in columns]


def drawn_of(result_set, run):
    """The one of DRAWN that a run's timeseries.csv has."""
    lines = record.read_lines(os.path.join(result_set.path, run, "timeseries.csv"))
    there = lines[0] if lines else {}
    return next((drawn for drawn in DRAWN if drawn[0] in there), DRAWN[0])


def draw(result_set):
    """Writes plot.png: throughput and the p99 of one type of transactions over time, of the middle run
    of each variant. Returns its path."""
    runs = middle_runs(result_set)
    if not runs:
        raise Failure(f"no run of {result_set.name} has ended well; there is nothing to be drawn")
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, (rate, latency) = pyplot.subplots(2, 1, figsize=(12, 8), sharex=True)
    column, name = drawn_of(result_set, next(iter(runs.values())))
    for variant, run in runs.items():
        seconds, tps = series(result_set, run, ("end_s", "tps"))
        rate.plot(seconds, tps, label=variant, linewidth=1)
        seconds, p99 = series(result_set, run, ("end_s", column))
        latency.plot(seconds, p99, label=variant, linewidth=1)
    rate.set(title=f"{result_set.name}: transactions a second", ylim=(0, None))
    latency.set(title=f"p99 of {name} in each interval, us", xlabel="seconds", yscale="log")
    rate.legend()
    figure.tight_layout()
    path = os.path.join(result_set.path, "plot.png")
    figure.savefig(path)
    pyplot.close(figure)
    return path
