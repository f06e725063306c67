"""Checks the queue binary as people meet it, a reader that stays open included."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from bench_command import expect, refused, run  # noqa: E402

SIZE = ("--jobs=2000", "--memory_mib=32")


def check_refusals(path):
    refused("--jobs=0", f"--path={path}", "--jobs=0")
    refused("--long_reader: at isolation none", f"--path={path}", "--long_reader",
            "--isolation=none")
    refused("--versions=off: for one thread only", f"--path={path}", "--versions=off", "--threads=2")
    folder = os.path.dirname(path)
    same = os.path.join(folder, "same")
    short = (f"--path={path}", *SIZE, "--seconds=0.1", "--warmup=0")
    refused("cannot be written: No such file", *short, f"--json={folder}/no/result.json")
    refused("cannot be written: Is a directory", *short, f"--series={folder}")
    refused("the same file as --json", *short, f"--json={same}", f"--series={same}")
    refused("lies in the directory of the data", *short, f"--series={path}/data/log")
    expect(os.listdir(folder) == [], "what is refused leaves nothing", run("--path="))


def check_runs(path, folder):
    result_file = os.path.join(folder, "run.json")
    # Few, so that next to none are done while the counts of one kind are read after the other's.
    done = run(f"--path={path}", *SIZE, "--threads=2", "--seconds=1", "--warmup=0.2", "--long_reader",
               "--check", "--rate=100", f"--json={result_file}")
    expect(done.returncode == 0 and "0 violations" in done.stdout, "a short run works", done)
    with open(result_file, encoding="utf-8") as file:
        result = json.load(file)
    put, taken = (result["commits_by_type"][kind] for kind in ("put", "take"))
    expect(result["workload"] == "queue" and result["scale"] == 2000 and put > 0
           and abs(put - taken) <= 2 and result["load"]["rows"] == 2000
           and result["long_reader"]["looks"] > 10 and result["jobs_per_minute"] > 0
           and result["version_bytes_max"] > 0 and result["versions"] is True,
           f"its result: {result}", done)
    done = run(f"--path={path}", *SIZE, "--versions=off", "--seconds=0.3", "--warmup=0", "--check",
               "--json=-")
    expect(done.returncode == 0, "one thread needs no versions", done)
    result = json.loads(done.stdout)
    expect(result["versions"] is False and result["version_bytes_max"] == 0
           and result["check"]["violations"] == 0, f"its result: {result}", done)


def check_one_process_has_a_path(path):
    """A second one does not take a load under way for one that did not end."""
    command = [sys.argv[1], f"--path={path}", "--jobs=500000", "--memory_mib=64", "--seconds=0.5"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as first:
        while not os.path.exists(os.path.join(path, "data")) and first.poll() is None:
            time.sleep(0.001)
        refused("in use by another process", *command[1:])
        said = first.communicate(timeout=60)[0]
    expect(first.returncode == 0 and "tps" in said, "the first goes on", run("--path="))
    done = run(*command[1:])
    expect(done.returncode == 0 and "loaded by an earlier run" in done.stderr, "and has loaded", done)


def check_what_was_loaded_is_missed(path):
    for name in os.listdir(os.path.join(path, "data")):
        place = os.path.join(path, "data", name)
        shutil.rmtree(place) if os.path.isdir(place) else os.remove(place)
    done = run(f"--path={path}", "--jobs=500000", "--memory_mib=64", "--seconds=0", "--check")
    expect(done.returncode == 1 and "violations" not in done.stdout, "no database is made anew", done)
    expect(os.listdir(os.path.join(path, "data")) == [], "no database is made anew", done)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        data = os.path.join(temporary, "data")
        check_refusals(data)
        check_runs(data, temporary)
        loaded_beside = os.path.join(temporary, "beside")
        check_one_process_has_a_path(loaded_beside)
        check_what_was_loaded_is_missed(loaded_beside)
