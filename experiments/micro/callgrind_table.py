"""Turns callgrind_annotate's list of functions into instructions per operation.

usage: callgrind_table.py FUNCTIONS RESULT: the list, and tree_bench's JSON, which has the number of operations
(to within one).
"""
import json
import os
import re
import sys

LINE = re.compile(r"^\s*([\d,]+) \(\s*[\d.]+%\)\s+(\S*?):(.*?)(?: \[\S+\])?$")
SMALLEST = 0.5  # instructions per operation; below, functions are summed up as "the rest"


def functions(text):
    """(instructions, source file, function) of each line that has them."""
    for line in text.split("\n"):
        match = LINE.match(line)
        if match:
            yield int(match[1].replace(",", "")), match[2], match[3]


def short_file(file):
    """The last two parts of a path: enough to know btree/descent.h."""
    return "libc and other libraries" if file in ("???", "") else "/".join(file.split(os.sep)[-2:])


def short_function(function):
    """Without parameters and template arguments."""
    name = re.sub(r"\(anonymous namespace\)::|palimpsest::", "", function)
    while re.search(r"<[^<>]*>", name):
        name = re.sub(r"<[^<>]*>", "", name)
    return name.split("(")[0].strip() or function


def grouped(entries, name_of):
    sums = {}
    for count, file, function in entries:
        name = name_of(file, function)
        sums[name] = sums.get(name, 0) + count
    return sorted(sums.items(), key=lambda item: -item[1])


def lines(title, sums, operations):
    total = sum(count for _, count in sums)
    yield f"{title:<56} {'per lookup':>10}  share"
    others = 0
    for name, count in sums:
        if count / operations < SMALLEST:
            others += count
            continue
        yield f"  {name:<54.54} {count / operations:>10.1f} {100 * count / total:>5.1f} %"
    yield f"  {'the rest':<54} {others / operations:>10.1f} {100 * others / total:>5.1f} %"
    yield f"  {'total':<54} {total / operations:>10.1f}"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        entries = list(functions(file.read()))
    with open(sys.argv[2], encoding="utf-8") as file:
        operations = json.load(file)["ops"]
    if not entries or not operations:
        sys.exit("callgrind_table: nothing was counted; has the tree's lookup been renamed?")
    print("\n".join(lines("instructions, by source file (inlined code included)",
                          grouped(entries, lambda file, _: short_file(file)), operations)))
    print()
    print("\n".join(lines("instructions, by function",
                          grouped(entries, lambda _, function: short_function(function)), operations)))


if __name__ == "__main__":
    main()
