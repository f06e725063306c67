"""Checks that every header compiles on its own, and included twice."""
import concurrent.futures
import os
import subprocess

import tree


def problem_of(root, compiler, header):
    folders = [root, os.path.join(root, "include")]
    if header.startswith("tests/"):
        folders.append(os.path.join(root, "tests"))
    spelled = header.removeprefix("include/")
    text = f'#include "{spelled}"\n#include "{spelled}"\n'
    command = [*compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c++",
               *[f"-I{folder}" for folder in folders], "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return None if done.returncode == 0 else f"{header} does not compile on its own:\n{done.stderr}"


def main():
    parser = tree.arguments(__doc__)
    parser.add_argument("compiler", nargs="+", help="the compiler's command")
    options = parser.parse_args()
    headers = tree.sources(options.root, suffixes=(".h",))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        found = workers.map(lambda header: problem_of(options.root, options.compiler, header), headers)
    tree.finish([problem for problem in found if problem], len(headers))


if __name__ == "__main__":
    main()
