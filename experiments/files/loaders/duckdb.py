"""DuckDB, by its Python package: COPY of a CSV file into a table of a new database.

Settings, from DuckDB's documentation (configuration/overview, guides/performance/import):
- memory_limit: all of the memory allowed; threads: one for each processor, as by default.
- preserve_insertion_order=false, as its guide advises for loads that are larger than memory.
- the primary key as in the other engines; `duckdb_no_key` leaves it out, as the guide advises for speed: its
  tables are columns in the order of insertion then, and no row is found by its key but by a scan.
Measured until the database is closed: all is in its file then. It reads what another process has installed:
`python3 -m pip install duckdb`, and is left out where that is not."""
import importlib.util
import json
import os
import sys

from loaders import lineitem_sql
from loaders.children import run_measured

MIB = 1 << 20
PROGRAM = """
import json, sys
import duckdb
statements = json.loads(sys.argv[2])
connection = duckdb.connect(sys.argv[1])
for statement in statements:
    answer = connection.execute(statement)
print("|".join(map(str, answer.fetchone() or ())))
connection.close()
"""


def missing():
    return None if importlib.util.find_spec("duckdb") else "Python has no package duckdb (pip install duckdb)"


def run(database, memory_bytes, *statements):
    settings = [f"SET memory_limit='{memory_bytes // MIB}MiB'", "SET preserve_insertion_order=false"]
    return run_measured([sys.executable, "-c", PROGRAM, database, json.dumps([*settings, *statements])])


def measure(input_file, path, memory_bytes, key, description):
    database = os.path.join(path, "lineitem.duckdb")
    quoted = input_file.replace("'", "''")
    _, seconds, resident_bytes = run(
        database, memory_bytes, f"CREATE TABLE lineitem ({lineitem_sql.COLUMNS}{key})",
        f"COPY lineitem FROM '{quoted}' (FORMAT csv, HEADER false)")
    said, _, _ = run(database, memory_bytes, lineitem_sql.select_sums("CAST(l_extendedprice * 100 AS bigint)"))
    content = lineitem_sql.content_of(said)
    return {"description": description, "content": content, "rows": content["rows"], "seconds": seconds,
            "settled_seconds": seconds, "resident_bytes_max": resident_bytes,
            "data_bytes": os.path.getsize(database)}


def load(input_file, path, memory_bytes, _build):
    return measure(input_file, path, memory_bytes, f", {lineitem_sql.KEY}",
                   "COPY into a table with a primary key")


def load_no_key(input_file, path, memory_bytes, _build):
    return measure(input_file, path, memory_bytes, "", "COPY into a table without a key")
