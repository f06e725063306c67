"""Loads a file with other programs: one function for each, with the file, an empty directory, the allowed
memory, and the directory of the binaries. It returns the object that load.py prints."""
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from loaders import alone, duckdb, palimpsest, postgresql, sqlite  # noqa: E402

ENGINES = {
    "palimpsest": palimpsest.load,
    "palimpsest_dump": palimpsest.dump,
    "sqlite": sqlite.load,
    "duckdb": duckdb.load,
    "duckdb_no_key": duckdb.load_no_key,
    "postgresql_unlogged": postgresql.load_unlogged,
    "postgresql_logged": postgresql.load_logged,
    "postgresql_key_last": postgresql.load_key_last,
    "parser": alone.parse,
    "device": alone.write,
}


def missing(engine, directory):
    """Why an engine cannot be measured on data below an existing directory, or None."""
    if engine == "sqlite":
        return sqlite.missing()
    if engine.startswith("duckdb"):
        return duckdb.missing()
    return postgresql.missing(directory) if engine.startswith("postgresql") else None
