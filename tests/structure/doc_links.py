"""Checks that every relative link in a Markdown file leads to a file of the repository."""
import os
import re
import urllib.parse

import tree

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def main():
    root = tree.arguments(__doc__).parse_args().root
    problems, examined = [], 0
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if name not in (".git", "build", ".cache")]
        for name in (name for name in names if name.endswith(".md")):
            path = os.path.relpath(os.path.join(folder, name), root)
            examined += 1
            for link in LINK.findall(tree.read(root, path)):
                target = urllib.parse.unquote(link.split("#")[0])
                if re.match(r"[a-z]+:", link) or not target:
                    continue
                if not os.path.exists(os.path.join(folder, target)):
                    problems.append(f"{path}: {link} leads nowhere")
    tree.finish(problems, examined)


if __name__ == "__main__":
    main()
