"""Plots the time series of a comparison, if matplotlib is there."""
import importlib.util


def available():
    return importlib.util.find_spec("matplotlib") is not None


def series(found, file):
    """One row a durability: commits in each step, and their p99. `found`: durability -> config ->
    result."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(len(found), 2, figsize=(14, 4 * len(found)), squeeze=False)
    for (durability, configs), (rate, p99) in zip(found.items(), axes):
        for config, result in configs.items():
            steps = result.get("series", [])
            seconds = [step["seconds"] for step in steps]
            rate.plot(seconds, [step["commits"] for step in steps], label=config, linewidth=1)
            p99.plot(seconds, [step["p99_us"] for step in steps], label=config, linewidth=1)
        rate.set(title=f"{durability}: commits in a step", xlabel="seconds", yscale="symlog")
        p99.set(title=f"{durability}: p99 of a step, us", xlabel="seconds", yscale="symlog")
        rate.legend()
    figure.tight_layout()
    figure.savefig(file)
