"""Plots of a set, if matplotlib is there."""
import importlib.util
import os

from runner import record


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


def draw(result_set):
    """Writes plot.png: throughput and p99 of New-Order over time, of the middle run of each variant.
    Returns its path."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, (rate, latency) = pyplot.subplots(2, 1, figsize=(12, 8), sharex=True)
    for variant, run in middle_runs(result_set).items():
        seconds, tps = series(result_set, run, ("end_s", "tps"))
        rate.plot(seconds, tps, label=variant, linewidth=1)
        seconds, p99 = series(result_set, run, ("end_s", "new_order_p99_us"))
        latency.plot(seconds, p99, label=variant, linewidth=1)
    rate.set(title=f"{result_set.name}: transactions a second", ylim=(0, None))
    latency.set(title="p99 of New-Order in each interval, us", xlabel="seconds", yscale="log")
    rate.legend()
    figure.tight_layout()
    path = os.path.join(result_set.path, "plot.png")
    figure.savefig(path)
    pyplot.close(figure)
    return path
