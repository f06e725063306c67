"""Checks that the public headers stand alone: they include each other and the standard library, and
compile with nothing else in reach."""
import concurrent.futures
import os
import re
import subprocess

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)
STANDARD = re.compile(r"[a-z_]+")  # no folder and no suffix


def foreign_includes(root, header):
    for quote, spelled in INCLUDE.findall(tree.read(root, header)):
        own = quote == '"' and os.path.exists(os.path.join(root, "include", spelled)) and \
            spelled.startswith("palimpsest/")
        if not own and not (quote == "<" and STANDARD.fullmatch(spelled)):
            yield f"{header} includes {spelled}"


def compile_alone(root, compiler, header):
    command = [*compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion",
               "-Wshadow", "-Werror", "-x", "c++", "-I", os.path.join(root, "include"), "-"]
    text = f'#include <{header.removeprefix("include/")}>\n'
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return [] if done.returncode == 0 else [f"{header} does not compile alone:\n{done.stderr}"]


def main():
    parser = tree.arguments(__doc__)
    parser.add_argument("compiler", nargs="+", help="the compiler's command")
    options = parser.parse_args()
    headers = tree.sources(options.root, suffixes=(".h",), tops=["include"])
    problems = [problem for header in headers for problem in foreign_includes(options.root, header)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        for found in workers.map(lambda h: compile_alone(options.root, options.compiler, h), headers):
            problems += found
    tree.finish(problems, len(headers))


if __name__ == "__main__":
    main()
