"""SQLite: the shell's `.import --csv`, which is one transaction.

Settings, from SQLite's documentation (pragma.html, cli.html, withoutrowid.html):
- journal_mode=OFF: a new database has nothing to roll back to. It is the fastest mode; an interrupted load
  leaves a file to be removed.
- synchronous=FULL: the file is synced once, by the commit.
- cache_size: all of the memory allowed.
- WITHOUT ROWID: rows are in the tree of their primary key, as in the other engines.
Types are SQLite's own: decimals become floating-point numbers, dates stay text."""
import os
import shutil

from loaders import lineitem_sql
from loaders.children import run_measured


def missing():
    return None if shutil.which("sqlite3") else "sqlite3 is not installed (tools/setup bench)"


def shell(database, *commands):
    return ["sqlite3", "-batch", "-bail", "-init", os.devnull, database, *commands]


def load(input_file, path, memory_bytes, _build):
    database = os.path.join(path, "lineitem.db")
    _, seconds, resident_bytes = run_measured(shell(
        database, "PRAGMA journal_mode=OFF", "PRAGMA synchronous=FULL",
        f"PRAGMA cache_size=-{memory_bytes // 1024}",
        f"CREATE TABLE lineitem ({lineitem_sql.COLUMNS}, {lineitem_sql.KEY}) WITHOUT ROWID",
        f".import --csv \"{input_file}\" lineitem"))
    said, _, _ = run_measured(shell(database, lineitem_sql.select_sums(
        "CAST(round(l_extendedprice * 100) AS integer)")))
    content = lineitem_sql.content_of(said)
    return {"description": ".import --csv, journal_mode=OFF, WITHOUT ROWID", "content": content,
            "rows": content["rows"], "seconds": seconds, "settled_seconds": seconds,
            "resident_bytes_max": resident_bytes, "data_bytes": os.path.getsize(database)}
