"""Tables of a set, and of two sets beside each other."""
from common.measures import ALL
from common.samples import Samples
from common.tables import markdown, ratio, with_spread

HEADS = {name: head for name, head, _ in ALL}


def table(result_set):
    """A line for each variant, as Markdown: medians, and half the range of the repetitions. Measures that no
    run has are left out: they belong to other workloads."""
    measures = {name: result_set.samples(name) for name in HEADS}
    runs = measures["tps"]
    told = [name for name in HEADS if name == "tps" or any(map(Samples.of, measures[name].values()))]
    lines = [[variant, str(len(runs[variant])),
              *(with_spread(Samples.of(measures[name][variant])) for name in told)]
             for variant in runs]
    return markdown([result_set.name, "runs", *(HEADS[name] for name in told)], lines)


def verdict(before, after):
    """Whether a difference is larger than that between repetitions."""
    if before is None or after is None:
        return "–"
    return "ranges are apart" if before.apart_from(after) else "ranges overlap"


def comparison(before, after, names):
    """Two sets beside each other, a line for each variant and measure; and the ones that only one set has."""
    lines, alone = [], set()
    for name in names:
        first, second = before.samples(name), after.samples(name)
        alone |= set(first) ^ set(second)
        for variant in first:
            if variant in second:
                one, other = Samples.of(first[variant]), Samples.of(second[variant])
                lines.append([f"{variant}: {HEADS[name]}", with_spread(one), with_spread(other),
                              ratio(other.median if other else None, one.median if one else None),
                              f"{len(first[variant])}, {len(second[variant])}",
                              verdict(one, other)])
    header = ["", before.name, after.name, "second / first", "runs", "spread"]
    text = markdown(header, lines) if lines else "nothing is in both\n"
    return text + "".join(f"\n\nonly in one of them: {variant}" for variant in sorted(alone))
