"""Checks the spelling of sources, documents and scripts with codespell; .codespellrc names what it does not know."""
import os
import subprocess

import tree


def files(root):
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if name not in (".git", "build", ".cache", "mutations", "cases")]
        for name in names:
            if name.endswith((".h", ".cc", ".md", ".py", ".cmake")) or name in ("CMakeLists.txt", "Makefile"):
                yield os.path.relpath(os.path.join(folder, name), root)


def main():
    root = tree.arguments(__doc__).parse_args().root
    paths = sorted(files(root))
    done = subprocess.run(["codespell", "--config", os.path.join(root, ".codespellrc"), *paths], cwd=root,
                          capture_output=True, text=True)
    problems = [line for line in done.stdout.split("\n") if "==>" in line]
    if done.returncode not in (0, 65):
        problems.append(f"codespell ended with {done.returncode}: {done.stderr}")
    tree.finish(problems, len(paths))


if __name__ == "__main__":
    main()
