"""Checks the published size limits: 250 lines a header, 600 a source, 100 columns."""
import tree

# clang-format keeps code within the columns, but leaves comments alone. Functions: see .clang-tidy.
LIMITS = {".h": 250, ".cc": 600}
COLUMNS = 100


def main():
    root = tree.arguments(__doc__).parse_args().root
    named = tree.exceptions(root, "size_exceptions.txt")
    problems = []
    paths = tree.sources(root)
    for path in paths:
        text = tree.read(root, path).split("\n")
        lines = len(text) - 1
        problems += [f"{path}:{number}: {len(line)} columns, the limit is {COLUMNS}"
                     for number, line in enumerate(text, 1) if len(line) > COLUMNS]
        limit = int(named[path][0]) if path in named else LIMITS[path[path.rindex("."):]]
        if lines > limit:
            problems.append(f"{path}: {lines} lines, the limit is {limit}")
        elif path in named and lines <= LIMITS[path[path.rindex("."):]]:
            problems.append(f"{path}: {lines} lines need no exception any more")
    problems += [f"size_exceptions.txt names {path}, which does not exist"
                 for path in named if path not in paths]
    tree.finish(problems, len(paths))


if __name__ == "__main__":
    main()
