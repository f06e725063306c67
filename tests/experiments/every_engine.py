"""Runs kv_bench, tree_bench, log_bench and endurance for a moment on every engine that they know. The arguments:
the folder of the binaries, and `peers` if those of the peers are built."""
import json
import os
import subprocess
import sys
import tempfile

FOLDER = sys.argv[1]
PEERS = "peers" in sys.argv[2:]


def run(folder, binary, *flags):
    """The result of a short run."""
    file = os.path.join(folder, "result.json")
    command = [os.path.join(FOLDER, binary), *flags, f"--json={file}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        sys.exit(f"{command}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
    with open(file, encoding="utf-8") as opened:
        return json.load(opened)


def expect(holds, what, result):
    if not holds:
        sys.exit(f"{what}: {json.dumps(result)}")


def run_key_values(folder, binary, engine):
    """Loads in both orders; each mode, with all data in memory and without."""
    for order, records in (("ascending", 200_000), ("random", 5_000)):
        path = os.path.join(folder, f"{binary}-{engine}-{order}")
        for mode in ("load", "lookup", "scan", "update", "mixed", "lookup"):
            timed = [] if mode == "load" else ["--seconds=0.2", "--warmup=0"]
            result = run(folder, binary, f"--engine={engine}", f"--path={path}", "--threads=2",
                         f"--records={records}", f"--load_order={order}", "--memory_mib=16",
                         f"--mode={mode}", *timed)
            expect(mode == "load" or result["latency_us"]["timed_operations"] > 0,
                   f"{binary}, {engine}, {mode}", result)


def run_commits(folder, binary, engine, *flags):
    """Verified by the benchmark itself, after a second opening."""
    result = run(folder, binary, f"--engine={engine}", f"--path={os.path.join(folder, 'commits')}",
                 "--threads=2", "--records=2000", "--seconds=0.3", "--warmup=0", "--memory_mib=64",
                 *flags)
    expect(result["commits"] > 0, f"{binary}, {engine}, {flags}", result)


def run_endurance(folder, binary, engine):
    for workload in ("queue", "reader", "refresh"):
        result = run(folder, binary, f"--engine={engine}", f"--workload={workload}", "--records=100",
                     "--operations=200", f"--path={os.path.join(folder, engine + workload)}")
        expect(result["failure"] is None and len(result["parts"]) == 10,
               f"{binary}, {engine}, {workload}", result)


def main():
    with tempfile.TemporaryDirectory() as folder:
        key_values = [("kv_bench", "palimpsest"), ("tree_bench", "tree")]
        commits = [("log_bench", "palimpsest")]
        endurance = [("endurance", "palimpsest")]
        if PEERS:
            key_values += [("kv_bench_peers", peer) for peer in ("lmdb", "rocksdb", "wiredtiger")]
            commits += [("log_bench_peers", peer)
                        for peer in ("lmdb", "rocksdb", "sqlite", "wiredtiger")]
            endurance += [("endurance_peers", peer) for peer in ("lmdb", "rocksdb", "sqlite")]
        for binary, engine in key_values:
            run_key_values(folder, binary, engine)
        run(folder, "tree_bench", "--engine=tree", f"--path={os.path.join(folder, 'torn')}",
            "--records=1000", "--memory_mib=16", "--double_write=off", "--mode=update",
            "--seconds=0.1", "--warmup=0")
        for binary, engine in commits:
            for durability in ("sync", "async"):
                run_commits(folder, binary, engine, f"--durability={durability}")
            if engine in ("rocksdb", "wiredtiger"):
                run_commits(folder, binary, engine, "--delta=on", "--checkpoint_ms=100")
        for binary, engine in endurance:
            run_endurance(folder, binary, engine)


if __name__ == "__main__":
    main()
