#!/usr/bin/env python3
"""Compares page sizes: the figures of docs/decisions/002-page-size.md. About 5 minutes, 7 GiB of disk.

Loads one database per page size and scenario, runs the workloads interleaved, prints the medians with
half the range as ±, and removes the data.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE_KIB = (4, 8, 16, 32)
# Name, records, MiB of memory, and the workloads: mode, threads, distribution.
SCENARIOS = (
    ("in memory", 10_000_000, 4096, (("lookup", 1, "uniform"), ("scan", 1, None))),
    ("four times memory", 4_000_000, 128,
     (("lookup", 16, "uniform"), ("lookup", 16, "zipf"),
      ("mixed", 16, "uniform"), ("mixed", 16, "zipf"))),
)


class Sweep:
    def __init__(self, arguments):
        self.arguments = arguments
        self.data = os.path.join(arguments.data, f"page-sizes-{os.getpid()}")

    def run(self):
        os.makedirs(self.data)
        try:
            for scenario in SCENARIOS:
                self.run_scenario(*scenario)
        finally:
            shutil.rmtree(self.data, ignore_errors=True)

    def run_scenario(self, name, records, memory_mib, workloads):
        for page_kib in PAGE_KIB:
            self.tree_bench(page_kib, records, memory_mib, ["--mode=load", "--threads=2"])
        for mode, threads, distribution in workloads:
            flags = [f"--mode={mode}", f"--threads={threads}", "--warmup=1",
                     f"--seconds={self.arguments.seconds}"]
            if distribution:
                flags.append(f"--distribution={distribution}")
            rates = {page_kib: [] for page_kib in PAGE_KIB}
            for _ in range(self.arguments.rounds):
                for page_kib in PAGE_KIB:
                    result = self.tree_bench(page_kib, records, memory_mib, flags)
                    rates[page_kib].append(result["ops_per_s"])
            self.show(f"{name}, {mode}, {distribution or 'all'}", rates)
        for page_kib in PAGE_KIB:
            shutil.rmtree(self.directory(page_kib))

    def directory(self, page_kib):
        return os.path.join(self.data, str(page_kib))

    def tree_bench(self, page_kib, records, memory_mib, flags):
        json_file = os.path.join(self.data, "result.json")
        subprocess.run([self.arguments.binary, "--engine=tree", f"--path={self.directory(page_kib)}",
                        f"--records={records}", f"--memory_mib={memory_mib}",
                        f"--page_kib={page_kib}", f"--json={json_file}", *flags],
                       check=True, stdout=subprocess.DEVNULL)
        with open(json_file, encoding="utf-8") as file:
            return json.load(file)

    @staticmethod
    def show(name, rates):
        print(f"| {name} | " + " | ".join(
            f"{statistics.median(values):,.0f} ± {(max(values) - min(values)) / 2:,.0f}"
            for values in rates.values()) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--binary", default=f"{ROOT}/build/release/experiments/tree_bench")
    parser.add_argument("--data", default=f"{ROOT}/build/data")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    sweep = Sweep(parser.parse_args())
    print("| operations/s | " + " | ".join(f"{page_kib} KiB" for page_kib in PAGE_KIB) + " |")
    print("|---|" + "---|" * len(PAGE_KIB))
    sweep.run()


if __name__ == "__main__":
    main()
