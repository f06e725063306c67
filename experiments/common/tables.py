"""Cells and Markdown tables of the benchmarks' reports."""


def number(value):
    if value is None:
        return "–"
    if value >= 10_000_000:
        return f"{value / 1e6:,.1f} M"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def quantity(value):
    """As number(), but three digits of what is below 1."""
    return f"{value:.3f}" if value is not None and 0 < abs(value) < 1 else number(value)


def with_spread(samples, text=quantity):
    """The median of some runs (samples.py), and half their range."""
    if samples is None:
        return number(None)
    spread = samples.spread
    return text(samples.median) + (f" ±{100 * spread:.0f} %" if spread is not None else "")


def ratio(ours, theirs):
    return f"{ours / theirs:.2f}" if ours is not None and theirs else "–"


def percent(part, whole):
    return f"{100 * part / whole:.0f} %" if part is not None and whole else "–"


def markdown(header, lines):
    """A Markdown table whose columns are padded, so that it reads well in a terminal too."""
    widths = [max(len(cells[column]) for cells in [header, *lines])
              for column in range(len(header))]

    def line(cells):
        padded = [cells[0].ljust(widths[0])]
        padded += [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:])]
        return "| " + " | ".join(padded) + " |"

    rule = "|" + "|".join("-" * (width + 1) + (":" if column else "-")
                          for column, width in enumerate(widths)) + "|"
    return "\n".join([line(header), rule, *map(line, lines)])
