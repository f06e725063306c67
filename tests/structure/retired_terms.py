"""Checks that terms which were given up do not come back: retired_terms.txt names them and what replaced them."""
import re

import tree

LISTED = "retired_terms.txt"


def terms(root):
    for line in tree.read(root, f"tests/structure/{LISTED}").split("\n"):
        old, arrow, new = line.split("#")[0].partition("->")
        if arrow:
            yield old.strip(), new.strip()


def main():
    root = tree.arguments(__doc__).parse_args().root
    retired = dict(terms(root))
    pattern = re.compile(r"(?<![A-Za-z0-9_])(" + "|".join(map(re.escape, retired)) + r")(?![A-Za-z0-9_])")
    layers = sorted({layer.split("/")[0] for layer in tree.LAYERS})
    paths = tree.sources(root, tops=layers + ["tests", "tools", "experiments", "examples"]) if retired else []
    problems = [f"{path}:{number}: \"{match}\" was given up for \"{retired[match]}\""
                for path in paths
                for number, line in enumerate(tree.read(root, path).split("\n"), 1)
                for match in pattern.findall(line)]
    tree.finish(problems, len(paths))


if __name__ == "__main__":
    main()
