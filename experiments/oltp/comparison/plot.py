"""The plot of a long run, if matplotlib is installed: the columns of its series over time, one above the other
(as in Umbra-MVCC, figure 7)."""
import importlib.util

from comparison.goals import COLUMNS


def available():
    return importlib.util.find_spec("matplotlib") is not None


def draw(series, title, path):
    """`series`: as goals.read_series() returns it."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    drawn = [column for column in COLUMNS if column.name in series]
    figure, axes = pyplot.subplots(len(drawn), 1, figsize=(12, 2.2 * len(drawn)), sharex=True,
                                   squeeze=False)
    for column, (axis,) in zip(drawn, axes):
        axis.plot(series["end_s"], [value / column.unit for value in series[column.name]], linewidth=1)
        axis.set(ylabel=column.head, ylim=(0, None))
    axes[0][0].set(title=title)
    axes[-1][0].set(xlabel="seconds")
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
