"""Checks that includes point only upward in the folder table, and third-party headers stay in place."""
import os
import re

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)

# Third-party headers and the only folders whose files may include them; a suffix limits the kind.
THIRD_PARTY = {
    "liburing": ["base/io"],
    "liburing.h": ["base/io"],
    "libpmem.h": ["base/io"],
    "spdlog": ["base"],
    "gflags": ["experiments"],
    "CLI": ["tools"],
    "simdjson.h": ["tools"],
    "zlib.h": ["tools", "tests"],
    "zstd.h": ["tools", "tests"],
    "lzma.h": ["tools"],
    "bzlib.h": ["tools"],
    "zip.h": ["tools"],
    "iconv.h": ["tools"],
    "nlohmann": ["experiments", "tools", "tests"],
    "gtest": ["tests"],
    "gmock": ["tests"],
    "seccomp.h": ["tests"],
    "lmdb.h": ["experiments"],
    "rocksdb": ["experiments"],
    "wiredtiger.h": ["experiments"],
}
# Libraries that users of the engine must not meet: sources only, no header of a layer.
SOURCES_ONLY = ["fmt", "spdlog"]
# Written by CMake into the build folder.
GENERATED = ["experiments_commit.h"]


def target_folder(spelled):
    return "include" if spelled.startswith("palimpsest/") else tree.folder_of(spelled)


def is_test_header(root, path, spelled):
    """Whether a test names a header by its path from tests/, as tests may."""
    return path.startswith("tests/") and os.path.exists(os.path.join(root, "tests", spelled))


def may_include(path, spelled, named):
    """None, or why `path` must not include our own header `spelled`."""
    source, target = tree.folder_of(path), target_folder(spelled)
    if source == "tests":
        return None
    if target == "tests":
        return "code outside tests/ includes tests/"
    if source in tree.USERS:
        allowed = {"include", source, *named.get(os.path.dirname(path), [])}
        if any(target == folder or (folder != "base" and tree.is_within(target, folder))
               for folder in allowed):
            return None
        return f"{source}/ includes the public API only"
    if target not in tree.LAYERS:
        return f"a layer includes {target}/"
    if tree.LAYERS.index(target) > tree.LAYERS.index(source):
        return f"{source}/ stands below {target}/"
    return None


def third_party_problem(path, spelled):
    first = spelled.split("/")[0]
    source = tree.folder_of(path)
    if first in THIRD_PARTY and source not in THIRD_PARTY[first]:
        return f"<{spelled}> belongs in {', '.join(THIRD_PARTY[first])} only"
    if first in SOURCES_ONLY and path.endswith(".h") and source in tree.LAYERS:
        return f"<{spelled}> appears in a header"
    return None


# Somebody else's program, who has our headers installed.
OUTSIDE = "tests/package/outside/"


def problems_of(root, path, named):
    for quote, spelled in INCLUDE.findall(tree.read(root, path)):
        own = os.path.exists(os.path.join(root, "include", spelled)) or os.path.exists(
            os.path.join(root, spelled))
        if own and "/" in spelled:
            problem = may_include(path, spelled, named)
            if quote == "<" and not path.startswith(OUTSIDE):
                problem = problem or "our own headers are included with quotes"
        elif quote == '"':
            problem = None if spelled in GENERATED or is_test_header(root, path, spelled) else \
                "not a path from the top of the repository or from include/"
        else:
            problem = third_party_problem(path, spelled)
        if problem:
            yield f"{path}: {spelled}: {problem}"


def main():
    root = tree.arguments(__doc__).parse_args().root
    named = tree.exceptions(root, "include_exceptions.txt")
    paths = tree.sources(root)
    tree.finish([problem for path in paths for problem in problems_of(root, path, named)], len(paths))


if __name__ == "__main__":
    main()
