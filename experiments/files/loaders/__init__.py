"""Loads a file with other programs: one function for each, with the file, an empty directory, the allowed
memory, and the directory of the binaries. It returns the object that load.py prints."""
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from loaders import alone, palimpsest, postgresql, sqlite  # noqa: E402

ENGINES = {
    "palimpsest": palimpsest.load,
    "sqlite": sqlite.load,
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
    return postgresql.missing(directory) if engine.startswith("postgresql") else None
