"""Checks the checks: each finds a violation planted in a small tree, and accepts the tree without it."""
import os
import subprocess
import sys
import tempfile

import tree

HERE = os.path.dirname(os.path.abspath(__file__))

CLEAN = {
    "include/palimpsest/api.h": "#pragma once\n",
    "base/bytes.h": "#pragma once\n#include <cstddef>\n",
    "base/io/file.h": '#pragma once\n#include "base/bytes.h"\n',
    "base/io/file.cc": '#include "base/io/file.h"\n#include <unistd.h>\nint f(int d) { return fsync(d); }\n',
    "buffer/pool.cc": '#include "base/io/file.h"\nint g() { return 1; }\n',
    "btree/tree.h": '#pragma once\n#include "base/bytes.h"\n',
    "experiments/kv_bench/main.cc": '#include "btree/tree.h"\n',
    "docs/api.md": "Call it:\n```cpp\nint g();\n```\n",
    "tests/docs/api_guide_test.cc": "namespace {\n  int g();\n}\n",
    "README.md": "See [the tree](btree/tree.h) and [elsewhere](https://example.org/x).\n",
    "tests/package/outside/notes.cc": "int main() {}\n",
    "tests/mutations/seeded.patch": "Breaks: a number\nFound by: pool_test\n\n"
                                    "--- a/buffer/pool.cc\n+++ b/buffer/pool.cc\n@@ -2,1 +2,1 @@\n"
                                    "-int g() { return 1; }\n+int g() { return 2; }\n",
    "tests/structure/size_exceptions.txt": "",
    "tests/structure/io_seam_exceptions.txt": "",
    "tests/structure/include_exceptions.txt": "experiments/kv_bench btree\n",
    "tests/structure/plain_english_limits.txt": "base 0\ndocs 0\nREADME.md 0\n",
    "tests/structure/retired_terms.txt": "Viewer -> ReadView\n",
    "tests/structure/doc_names_known.txt": "",
    "base/plain.h": "#pragma once\n// The caller holds the latch.\n",
    "Makefile": "test:\n",
    ".codespellrc": "[codespell]\nignore-words-list = edn\n",
}

# check, planted path, its text, what the report must say
PLANTED = [
    ("include_order", "buffer/up.cc", '#include "btree/tree.h"\n', "buffer/ stands below btree/"),
    ("include_order", "base/up.h", '#include "base/io/file.h"\n', "base/ stands below base/io/"),
    ("include_order", "include/palimpsest/leak.h", '#include "base/bytes.h"\n', "include/ stands below"),
    ("include_order", "btree/node/up.h", '#pragma once\n#include "btree/tree.h"\n',
     "btree/node/ stands below btree/"),
    ("include_order", "experiments/ycsb/main.cc", '#include "btree/tree.h"\n', "public API only"),
    ("include_order", "btree/flags.cc", "#include <gflags/gflags.h>\n", "belongs in experiments only"),
    ("include_order", "btree/print.h", "#include <fmt/format.h>\n", "appears in a header"),
    ("include_order", "base/lines.h", "#include <spdlog/logger.h>\n", "appears in a header"),
    ("include_order", "engine/lines.cc", "#include <spdlog/logger.h>\n", "belongs in base only"),
    ("include_order", "btree/near.cc", '#include "tree.h"\n', "not a path from the top"),
    ("include_order", "btree/angle.cc", "#include <base/bytes.h>\n", "included with quotes"),
    ("mutations_apply", "buffer/pool.cc", "int g();\n", "buffer/pool.cc is no longer as the patch says"),
    ("mutations_apply", "tests/mutations/mute.patch",
     "Breaks: a number\n\n--- a/buffer/pool.cc\n+++ b/buffer/pool.cc\n@@ -2,1 +2,1 @@\n"
     "-int g() { return 1; }\n+int g() { return 2; }\n", 'mute: no line says "Found by: ..."'),
    ("size_limits", "btree/long.h", "\n" * 251, "251 lines, the limit is 250"),
    ("size_limits", "btree/long.cc", "\n" * 601, "601 lines, the limit is 600"),
    ("size_limits", "btree/wide.h", "// " + "x" * 98 + "\n", "btree/wide.h:1: 101 columns"),
    ("size_limits", "tests/structure/size_exceptions.txt", "btree/tree.h 400\n", "need no exception"),
    ("headers_alone", "btree/needy.h", "#pragma once\ninline std::size_t n = 0;\n", "btree/needy.h does not"),
    ("headers_alone", "btree/twice.h", "struct Twice {};\n", "btree/twice.h does not"),
    ("doc_links", "docs/page.md", "[gone](missing.md)\n", "missing.md leads nowhere"),
    ("doc_snippets", "docs/api.md", "Call it:\n```cpp\nint g(int);\n```\n", "docs/api.md: this is not in"),
    ("public_headers", "include/palimpsest/leak.h", '#include "base/bytes.h"\n', "leak.h includes base/bytes.h"),
    ("public_headers", "include/palimpsest/posix.h", "#include <unistd.h>\n", "posix.h includes unistd.h"),
    ("public_headers", "include/palimpsest/needy.h", "inline std::size_t n = 0;\n", "needy.h does not compile"),
    ("io_seam", "buffer/direct.cc", "#include <unistd.h>\nint h(int d) { return fsync(d); }\n",
     "buffer/direct.cc calls fsync"),
    ("io_seam", "base/stream.cc", "#include <fstream>\nbool s() { return !std::ifstream(\"x\"); }\n",
     "base/stream.cc calls _ZNSt14basic_ifstream"),
    ("plain_english", "base/plain.h", "#pragma once\n// Who calls it holds the latch.\n// He waits.\n",
     "2 of 2 lines of prose"),
    ("plain_english", "base/plain.h", "#pragma once\nconst char* one() { return \"nobody \\\"has\\\" it\"; }  // He.\n"
     "const char* two() { return \"// who reads\"; }\n", "3 of 3 lines of prose"),
    ("plain_english", "tests/names_test.cc", "TEST_F(Latch, WhoWaitsIsWoken) {}\n", "WhoWaitsIsWoken, does not say"),
    ("plain_english", "wal/log.h", "#pragma once\n// The log.\n", "gives wal/ no limit"),
    ("retired_terms", "btree/seen.h", "#pragma once\nclass Viewer {};\n", "given up for \"ReadView\""),
    ("doc_names", "docs/gone.md", "It calls `forget_all()`.\n", "there is no forget_all"),
    ("doc_names", "docs/gone.md", "See `base/gone.h`.\n", "there is no base/gone.h"),
    ("doc_names", "docs/gone.md", "Run `make everything`.\n", "there is no everything"),
    ("doc_names", "docs/gone.md", "`tool --forget` forgets.\n", "there is no forget"),
    ("spelling", "docs/gone.md", "It is re" + "cieved.\n", "==> received"),
    ("io_seam", "btree/map.cc",
     "#include <sys/mman.h>\nvoid* m(int d) { return mmap(nullptr, 1, 1, 1, d, 0); }\n",
     "btree/map.cc calls mmap"),
    ("io_seam", "btree/raw.cc", "#include <unistd.h>\nlong r() { return syscall(3, 4); }\n",
     "btree/raw.cc makes a system call"),
]


def plant(root, files):
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write(text)


def run(check, root, compiler):
    """Runs one check over `root`: exit code and report."""
    further = []
    if check in ("headers_alone", "public_headers"):
        further = compiler
    if check == "io_seam":
        for path in tree.sources(root, suffixes=(".cc",), tops=["base", "buffer", "btree"]):
            top, rest = path.split("/", 1)
            further.append(os.path.join(root, "build", top, "CMakeFiles", "x.dir", rest + ".o"))
            os.makedirs(os.path.dirname(further[-1]), exist_ok=True)
            subprocess.run([*compiler, "-std=c++20", "-c", "-I", root, os.path.join(root, path),
                            "-o", further[-1]], check=True)
    done = subprocess.run([sys.executable, "-B", os.path.join(HERE, check + ".py"), "--root", root, *further],
                          capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def main():
    parser = tree.arguments(__doc__)
    parser.add_argument("compiler", nargs="+", help="the compiler's command")
    compiler = parser.parse_args().compiler
    failures = []
    for check in sorted({planted[0] for planted in PLANTED}):
        with tempfile.TemporaryDirectory() as root:
            plant(root, CLEAN)
            code, report = run(check, root, compiler)
            if code != 0:
                failures.append(f"{check} rejects a clean tree:\n{report}")
    for check, path, text, expected in PLANTED:
        with tempfile.TemporaryDirectory() as root:
            plant(root, {**CLEAN, path: text})
            code, report = run(check, root, compiler)
            if code != 1 or expected not in report:
                failures.append(f"{check} misses {path} (exit code {code}):\n{report}")
    tree.finish(failures, len(PLANTED))


if __name__ == "__main__":
    main()
