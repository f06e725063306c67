"""PostgreSQL 15: COPY of a file that the server reads itself, into a table with a primary key.

Settings, from PostgreSQL's manual ("Populating a Database", "Resource Consumption", "Write Ahead Log"):
- shared_buffers and maintenance_work_mem share the memory allowed, three to one.
- max_wal_size and checkpoint_timeout so large that no checkpoint runs during the load.
- wal_level=minimal and max_wal_senders=0, autovacuum off: nothing runs beside the load.
- Everything else as installed: fsync, synchronous_commit and full_page_writes are on.
Three ways: an unlogged table, which is empty after a crash; a logged one; and what the manual advises,
a table that is created, filled and only then given its key in one transaction, which writes no log but syncs
the table. Rows are durable after the commit; settled, after a CHECKPOINT.
Fixed texts are varchar, which PostgreSQL does not fill up with spaces.
Memory: the proportional set sizes of all processes of the server, sampled every 0.1 s."""
import time

from loaders import lineitem_sql
from loaders.children import MemorySampler
from loaders.cluster import Cluster, missing  # noqa: F401

KIB = 1024
MIB = 1 << 20


def settings(memory_bytes):
    return {"shared_buffers": f"{memory_bytes * 3 // 4 // MIB}MB",
            "maintenance_work_mem": f"{memory_bytes // 4 // KIB}kB",
            "max_wal_size": "64GB", "checkpoint_timeout": "1h", "wal_level": "minimal",
            "max_wal_senders": "0", "autovacuum": "off"}


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def copy(input_file):
    return f"COPY lineitem FROM {quoted(input_file)} (FORMAT csv)"


def create(kind, key):
    return f"CREATE {kind} TABLE lineitem ({lineitem_sql.COLUMNS}{', ' + key if key else ''})"


def measure(path, memory_bytes, description, before, statements):
    """`before` is run and not measured; then `statements`."""
    with Cluster(path, settings(memory_bytes)) as cluster:
        cluster.query(*before, "CHECKPOINT")
        with MemorySampler(cluster.pid) as memory:
            begin = time.monotonic()
            cluster.query(*statements)
            seconds = time.monotonic() - begin
            cluster.query("CHECKPOINT")
            settled_seconds = time.monotonic() - begin
        content = lineitem_sql.content_of(cluster.query(
            lineitem_sql.select_sums("(l_extendedprice * 100)::bigint")))
        data_bytes = int(cluster.query("SELECT pg_total_relation_size('lineitem')"))
    return {"description": description, "content": content, "rows": content["rows"],
            "seconds": seconds, "settled_seconds": settled_seconds,
            "resident_bytes_max": memory.bytes_max, "data_bytes": data_bytes}


def load_unlogged(input_file, path, memory_bytes, _build):
    return measure(path, memory_bytes, "COPY into an unlogged table with a primary key",
                   [create("UNLOGGED", lineitem_sql.KEY)], [copy(input_file)])


def load_logged(input_file, path, memory_bytes, _build):
    return measure(path, memory_bytes, "COPY into a table with a primary key",
                   [create("", lineitem_sql.KEY)], [copy(input_file)])


def load_key_last(input_file, path, memory_bytes, _build):
    return measure(path, memory_bytes, "COPY into a table that gets its primary key afterwards", [],
                   ["; ".join(["BEGIN", create("", ""), copy(input_file),
                               f"ALTER TABLE lineitem ADD {lineitem_sql.KEY}", "COMMIT"])])
