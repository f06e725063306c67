"""Checks that headers compile on their own, and included twice: as many as there is time for, or all."""
import concurrent.futures
import os
import random
import re
import subprocess
import time

import tree

# Engines that are measured beside this one: who only tests need not have them.
PEER_IS_MISSING = re.compile(r"fatal error: (lmdb|wiredtiger|sqlite3|rocksdb/\S+)\.h: No such file")
LEFT_OUT = "left out"


def problem_of(root, compiler, header):
    folders = [root, os.path.join(root, "include")]
    if header.startswith("tests/"):
        folders.append(os.path.join(root, "tests"))
    spelled = header.removeprefix("include/")
    text = f'#include "{spelled}"\n#include "{spelled}"\n'
    command = [*compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c++",
               *[f"-I{folder}" for folder in folders], "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    if PEER_IS_MISSING.search(done.stderr):
        return LEFT_OUT
    return f"{header} does not compile on its own:\n{done.stderr}"


def main():
    parser = tree.arguments(__doc__)
    parser.add_argument("--seconds", type=float, help="after which no other header is begun")
    parser.add_argument("compiler", nargs="+", help="the compiler's command")
    options = parser.parse_args()
    headers = tree.sources(options.root, suffixes=(".h",))
    random.shuffle(headers)
    until = None if options.seconds is None else time.monotonic() + options.seconds
    examined = []

    def examine(header):
        if until is not None and time.monotonic() > until:
            return None
        examined.append(header)
        return problem_of(options.root, options.compiler, header)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        found = list(workers.map(examine, headers))
    left_out = found.count(LEFT_OUT)
    print(f"{len(examined) - left_out} of {len(headers)} headers; {left_out} left out, whose engine is "
          "not installed")
    tree.finish([problem for problem in found if problem not in (None, LEFT_OUT)],
                len(examined) - left_out)


if __name__ == "__main__":
    main()
