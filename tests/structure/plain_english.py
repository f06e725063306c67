"""Checks that prose names its subjects: counts "who", "nobody", "he" and their like in comments, documents, and
string literals of several words. Names of tests have none.

plain_english_limits.txt gives each folder the lines that may have one, out of a thousand lines of prose. A folder
that has come below its limit by a quarter or more needs a lower one: the limits only go down.
"""
import os
import re

import tree

PERSONS = re.compile(
    r"\b([Ww]ho|[Ww]hom|[Ww]hoever|[Ww]homever|[Nn]obody|[Nn]o one|[Ss]omebody|[Ss]omeone|[Ee]verybody|[Ee]veryone"
    r"|[Ss]omebody else|[Oo]thers|[Hh]e|[Hh]im|[Hh]is|[Hh]imself)\b")
STRING = r'"(?:[^"\\\n]|\\.)*"'
# A string literal may hold "//", and a comment may quote.
TOKENS = re.compile(rf"(?P<comment>//[^\n]*)|(?P<string>{STRING})|'\\?[^\n]'")
TEST_NAME = re.compile(
    r"\bTEST(?:_[A-Z]+)?\(\w+,\s*(\w*(?:Who|Whom|Whoever|Nobody|Somebody|Someone|Everybody|Everyone|Others|He|Him|His)"
    r"(?:[A-Z]\w*)?)\)")
LIMITS = "plain_english_limits.txt"
# Text that quotes what others wrote, and lists of these very words.
EXEMPT = ("tests/structure/",)


def prose_of(root, path):
    text = tree.read(root, path)
    if path.endswith(".md"):
        return [line for line in text.split("\n") if line.strip()]
    return [said for line in text.split("\n") for said in said_in(line)]


def said_in(line):
    """The comment of a line, and its string literals of several words."""
    for token in TOKENS.finditer(line):
        if token["comment"] or " " in (token["string"] or "").strip('" '):
            yield token.group()


def documents(root):
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if name not in (".git", "build", ".cache")]
        for name in names:
            if name.endswith(".md"):
                yield os.path.relpath(os.path.join(folder, name), root)


def area_of(path):
    if path.startswith("docs/decisions/"):
        return "docs/decisions"
    return path.split("/")[0] if "/" in path else "README.md"


def main():
    root = tree.arguments(__doc__).parse_args().root
    limits = {area: int(values[0]) for area, values in tree.exceptions(root, LIMITS).items()}
    lines, found, first = {}, {}, {}
    paths = [path for path in tree.sources(root) + sorted(documents(root)) if not path.startswith(EXEMPT)]
    problems = [f"{path}: the name of a test, {name}, does not say which thread, transaction or caller"
                for path in paths if path.endswith(".cc") for name in TEST_NAME.findall(tree.read(root, path))]
    for path in paths:
        area = area_of(path)
        for line in prose_of(root, path):
            lines[area] = lines.get(area, 0) + 1
            if PERSONS.search(line):
                found[area] = found.get(area, 0) + 1
                first.setdefault(area, []).append(f"{path}: {line.strip()}")
    problems += [f"{LIMITS} gives {area}/ no limit" for area in lines if area not in limits]
    problems += [f"{LIMITS} names {area}, which has no prose" for area in limits if area not in lines]
    for area in sorted(set(lines) & set(limits)):
        share = found.get(area, 0) * 1000 / lines[area]
        if share > limits[area] and found.get(area, 0) > 1:
            problems.append(f"{area}/: {found[area]} of {lines[area]} lines of prose speak of \"who\", \"nobody\", \"he\" "
                            f"and their like, the limit is {limits[area]} of a thousand; name the thread, the transaction "
                            f"or the caller instead:\n    " + "\n    ".join(first[area][-5:]))
        elif limits[area] > 5 and share < limits[area] * 3 / 4:
            problems.append(f"{area}/: {share:.0f} of a thousand; {LIMITS} still allows {limits[area]}")
    tree.finish(problems, len(paths))


if __name__ == "__main__":
    main()
