#!/usr/bin/env python3
"""Where the instructions of a TPC-C transaction go, by what they are for: tpcc under callgrind.

The data fits memory and is read beforehand; instructions are counted once the run is warm, and only within
transactions, without the choice of their inputs. Instructions are not time, but they are the same on every
machine, and without noise.

    experiments/tpcc/callgrind_transactions.py [--isolation none] [--without versions] [--seconds 30]
"""
import argparse
import collections
import pathlib
import re
import subprocess
import tempfile

# The first pattern that matches a function's name gives its group.
GROUPS = (
    ("pages brought in: checked, read", r"check_content|check_node|checksum|PageLoader|PageFile|"
                                        r"verify_page|validate_node|io::File|Ring"),
    ("the workload: rows decoded and encoded", r"experiments::|__introsort"),
    ("claims of records, versions", r"versioning::|LeafEntries|seen_record"),
    ("log records", r"Logged|log_change|put_place|next_difference|wal::|log_modified|WorkerSlot"),
    ("searches: descents, and within nodes", r"search|BTree::exclusive_leaf|BTree::find|follow|"
                                             r"LeafFinder|Descent|LeafWalk|visit_leaves|Shortcuts|"
                                             r"mostly_covers"),
    ("changes of leaves", r"btree::"),
    ("copies and comparisons of bytes", r"memcpy|memmove|memcmp|memset|basic_string_view"),
    ("heap", r"malloc|free|operator new|operator delete|_int_|unlink_chunk"),
    ("tables, transactions, the API", r"palimpsest::"),
)
REST = "the rest"
OPERATIONS = {"read": "palimpsest::Table::read_in(", "modify": "palimpsest::Table::modify_in(",
              "rewrite": "palimpsest::Table::rewrite_in(",
              "insert": "palimpsest::Table::insert_in(",
              "insert many": "palimpsest::Table::insert_many_in(",
              "erase": "palimpsest::Table::erase_in(",
              "visit": "palimpsest::Table::visit_in(", "commit": "palimpsest::Transaction::commit("}


class Profile:
    """Costs of functions, from callgrind's file (format: its manual, "Callgrind Format Specification")."""

    def __init__(self, lines):
        self.own = collections.Counter()
        self.inclusive = collections.Counter()
        self.calls = collections.Counter()
        self._names = {}
        function = callee = None
        calls = 0
        for line in lines:
            if line.startswith("fn="):
                function = self._name(line[3:])
            elif line.startswith("cfn="):
                callee = self._name(line[4:])
            elif line.startswith("calls="):
                calls = int(line[6:].split()[0])
            elif function and line[:1] in "0123456789+-*" and len(line.split()) > 1:
                cost = int(line.split()[1])
                if calls:
                    self.inclusive[callee] += cost
                    self.calls[callee] += calls
                    calls = 0
                else:
                    self.own[function] += cost

    def _name(self, text):
        number, _, name = text.strip().partition(" ")
        if name:
            self._names[number] = name
        return self._names[number]

    def operation(self, begin):
        """Calls, and their total instructions, of functions with names that begin so."""
        names = [name for name in self.calls if name.startswith(begin)]
        return sum(self.calls[n] for n in names), sum(self.inclusive[n] for n in names)


def group_of(name):
    return next((group for group, pattern in GROUPS if re.search(pattern, name)), REST)


def measure(binary, data, out, options):
    """Runs the transactions, counting for some seconds once they are warm."""
    flags = [f"--path={data}", "--warehouses=2", "--memory_mib=2048", "--threads=1",
             f"--isolation={options.isolation}"]
    switches = [f"--{name}=off" for name in options.without]
    subprocess.run([binary, *flags, "--seconds=0"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    run = subprocess.Popen(
        ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}",
         "--toggle-collect=*tpcc::run<*", binary, *flags, *switches,
         f"--warmup={options.warmup}",
         f"--seconds={options.seconds}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in run.stdout:  # the warm-up is over with the first line of the run itself
        if line.startswith("run "):
            break
    subprocess.run(["callgrind_control", "--instr=on", str(run.pid)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run.communicate()
    if run.returncode != 0:
        raise SystemExit(f"tpcc ended with {run.returncode}")


def report(profile):
    transactions, _ = profile.operation(OPERATIONS["commit"])
    groups = collections.Counter()
    for name, cost in profile.own.items():
        groups[group_of(name)] += cost
    total = sum(groups.values())
    print(f"{total / transactions:,.0f} instructions a transaction, of {transactions:,} transactions\n")
    print("| for | instructions | share |\n|---|---|---|")
    for group, cost in groups.most_common():
        print(f"| {group} | {cost / transactions:,.0f} | {100 * cost / total:.0f} % |")
    print("\n| operation | of a transaction | instructions of one |\n|---|---|---|")
    for operation, begin in OPERATIONS.items():
        calls, cost = profile.operation(begin)
        if calls:
            print(f"| {operation} | {calls / transactions:.2f} | {cost / calls:,.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--isolation", default="snapshot")
    parser.add_argument("--without", nargs="+", choices=("write_conflicts", "versions"), default=[],
                        help="with tpcc's measuring switches off")
    parser.add_argument("--warmup", type=int, default=30, help="seconds, not counted")
    parser.add_argument("--seconds", type=int, default=30, help="counted; time passes slowly")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tpcc-", dir=options.build) as directory:
        out = pathlib.Path(directory, "callgrind.out")
        measure(options.build / "experiments/tpcc", pathlib.Path(directory, "data"), out, options)
        with open(out, encoding="utf-8") as lines:
            report(Profile(lines))


if __name__ == "__main__":
    main()
