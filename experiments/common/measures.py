"""The measures of a run of a transactional workload, from its JSON (experiments/oltp/README.md)."""

MB = 1e6
MIB = 1 << 20


def field_of(result, path):
    """The value at "a.b" of nested objects, or None."""
    for name in path.split("."):
        if not isinstance(result, dict) or result.get(name) is None:
            return None
        result = result[name]
    return result


def conflicts(result):
    """Attempts that ended in a conflict, for each transaction that was committed."""
    aborts = result.get("aborts_by_reason")
    if not aborts or not result["commits"]:
        return None
    return sum(count for reason, count in aborts.items() if reason != "by_input") / result["commits"]


def at(path):
    return lambda result: field_of(result, path)


def per_commit(path):
    def value(result):
        total = field_of(result, path)
        return total / result["commits"] if total is not None and result["commits"] else None
    return value


def mb_per_second(path):
    def value(result):
        total = field_of(result, path)
        return total / result["seconds"] / MB if total is not None and result["seconds"] else None
    return value


def growth_per_commit(result):
    if result.get("data_bytes_start") is None or not result["commits"]:
        return None
    return (result["data_bytes_end"] - result["data_bytes_start"]) / result["commits"]


def mib(path):
    def value(result):
        total = field_of(result, path)
        return total / MIB if total is not None else None
    return value


# Name, with its unit, in files; the same for people; how it comes from a result. Those of all workloads
# and of TPC-C.
MEASURES = (
    ("tps", "transactions/s", at("tps")),
    ("tpmc", "tpmC", at("tpmc")),
    ("new_order_p50_us", "New-Order p50, us", at("latency_us.new_order.p50")),
    ("new_order_p99_us", "p99, us", at("latency_us.new_order.p99")),
    ("conflicts_per_commit", "conflicts a commit", conflicts),
    ("log_bytes_per_commit", "log bytes a commit", per_commit("log_bytes")),
    ("data_bytes_per_commit", "data grows, bytes a commit", growth_per_commit),
    ("read_mb_per_s", "read, MB/s", mb_per_second("read_bytes")),
    ("written_mb_per_s", "written, MB/s", mb_per_second("write_bytes")),
    ("rss_mib_max", "rss, MiB", mib("rss_bytes_max")),
)
OF_TATP = (
    ("get_subscriber_data_p50_us", "GET_SUBSCRIBER_DATA p50, us",
     at("latency_us.get_subscriber_data.p50")),
    ("get_subscriber_data_p99_us", "p99, us", at("latency_us.get_subscriber_data.p99")),
    ("update_location_p50_us", "UPDATE_LOCATION p50, us", at("latency_us.update_location.p50")),
    ("update_location_p99_us", "p99, us", at("latency_us.update_location.p99")),
)
OF_QUEUE = (
    ("put_p50_us", "put p50, us", at("latency_us.put.p50")),
    ("put_p99_us", "p99, us", at("latency_us.put.p99")),
    ("take_p50_us", "take p50, us", at("latency_us.take.p50")),
    ("take_p99_us", "p99, us", at("latency_us.take.p99")),
)
ALL = MEASURES + OF_TATP + OF_QUEUE
NAMES = tuple(name for name, _, _ in ALL)


def measures_of(result):
    """All of them by name; None where a run does not have one."""
    return {name: value(result) for name, _, value in ALL}
