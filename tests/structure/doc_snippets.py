"""Checks that every piece of C++ in a page that has a guide test is in that test, line by line: so it
compiles, and is run. Blank lines and indentation do not count."""
import re

import tree

# The pages, and where their pieces of C++ are compiled.
GUIDES = {"docs/api.md": "tests/docs/api_guide_test.cc",
          "README.md": "tests/package/outside/notes.cc"}
BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.M | re.S)


def lines_of(text):
    return [line.strip() for line in text.split("\n") if line.strip()]


def is_within(piece, source):
    return any(source[at:at + len(piece)] == piece for at in range(len(source) - len(piece) + 1))


def main():
    root = tree.arguments(__doc__).parse_args().root
    problems, examined = [], 0
    for page, test in GUIDES.items():
        source = lines_of(tree.read(root, test))
        for block in BLOCK.findall(tree.read(root, page)):
            piece = lines_of(block)
            examined += 1
            if not piece or not is_within(piece, source):
                problems.append(f"{page}: this is not in {test}:\n{block}")
    tree.finish(problems, examined)


if __name__ == "__main__":
    main()
