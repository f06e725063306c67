"""The bounds of every load: Palimpsest's parser alone, and the device alone."""
import json
import os
import time

from loaders import palimpsest
from loaders.children import run_measured

PIECE_BYTES = 1 << 20


def parse(input_file, path, memory_bytes, build):
    command = palimpsest.command(input_file, os.path.join(path, "database"), memory_bytes, build)
    said, seconds, resident_bytes = run_measured([*command, "--dry-run"])
    rows = json.loads(said)["rows_added"]
    return {"description": "palimpsest load --dry-run", "content": {"rows": rows}, "rows": rows,
            "seconds": seconds, "settled_seconds": seconds, "resident_bytes_max": resident_bytes,
            "data_bytes": 0}


def write(input_file, path, _memory_bytes, _build):
    """Writes the bytes of the file in order and syncs them; then reads them from the device. Uses no call that
    would share blocks or copy them within the kernel."""
    copy = os.path.join(path, "copy")
    begin = time.monotonic()
    with open(input_file, "rb", buffering=0) as source, open(copy, "wb", buffering=0) as target:
        while piece := source.read(PIECE_BYTES):
            target.write(piece)
        os.fsync(target.fileno())
    seconds = time.monotonic() - begin
    return {"description": "sequential writes and a sync; then reads", "content": {},
            "seconds": seconds, "settled_seconds": seconds, "read_seconds": seconds_of_reading(copy),
            "data_bytes": os.path.getsize(copy)}


def seconds_of_reading(name):
    with open(name, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # it is on the device
        begin = time.monotonic()
        while file.read(PIECE_BYTES):
            pass
        return time.monotonic() - begin
