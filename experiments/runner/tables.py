"""Tables of a set, and of two sets beside each other."""
from common.measures import MEASURES
from common.samples import Samples
from common.tables import markdown, ratio, with_spread

HEADS = {name: head for name, head, _ in MEASURES}


def table(result_set):
    """A line for each variant, as Markdown: medians, and half the range of the repetitions."""
    measures = {name: result_set.samples(name) for name in HEADS}
    variants = list(measures["tps"])
    lines = [[variant, str(len(measures["tps"][variant])),
              *(with_spread(Samples.of(measures[name][variant])) for name in HEADS)]
             for variant in variants]
    return markdown([result_set.name, "runs", *HEADS.values()], lines)


def verdict(before, after):
    """Whether a difference is more than that of repetitions."""
    if before is None or after is None:
        return "–"
    return "ranges are apart" if before.apart_from(after) else "ranges overlap"


def comparison(before, after, names):
    """Two sets beside each other, a line for each variant and measure; and what only one of them has."""
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
