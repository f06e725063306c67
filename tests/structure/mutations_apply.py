"""Checks that every patch in tests/mutations/ still fits the code that it breaks, and says what it breaks
and which test finds that: a mutation that no longer applies finds nothing."""
import glob
import os
import re

import tree


def old_texts(patch):
    """(file, text as it was) of each hunk."""
    file, text = None, []
    for line in patch.splitlines(keepends=True):
        if line.startswith("--- a/"):
            file = line[len("--- a/"):].strip()
        elif line.startswith(("@@", "+++")):
            if text:
                yield file, "".join(text)
            text = []
        elif file is not None and line[0] in " -":
            text.append(line[1:])
    if text:
        yield file, "".join(text)


def main():
    root = tree.arguments(__doc__).parse_args().root
    problems = []
    paths = sorted(glob.glob(os.path.join(root, "tests", "mutations", "*.patch")))
    for path in paths:
        name = os.path.basename(path).removesuffix(".patch")
        patch = tree.read(root, path)
        hunks = list(old_texts(patch))
        problems += [f"{name}: {file} is no longer as the patch says"
                     for file, text in hunks if text not in tree.read(root, file)]
        if not hunks:
            problems.append(f"{name}: the patch changes nothing")
        problems += [f"{name}: no line says \"{field}: ...\""
                     for field in ("Breaks", "Found by")
                     if not re.search(rf"^{field}: \S", patch.split("--- a/")[0], re.MULTILINE)]
    tree.finish(problems, len(paths))


if __name__ == "__main__":
    main()
