"""Checks loads from files as people meet them: lineitem_csv, load.py with every program there is, and
csv_load_peers if it is built. The arguments: lineitem_csv, palimpsest, csv_load_peers."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
FILES = os.path.join(TOP, "experiments", "files")
sys.path.insert(0, FILES)
import loaders  # noqa: E402

GEN, TOOL = sys.argv[1:3]
PEERS = sys.argv[3] if len(sys.argv) > 3 else None
LOAD = (sys.executable, "-B", os.path.join(FILES, "load.py"), f"--build={os.path.dirname(GEN)}")
SCALE = "--scale_factor=0.01"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def expect(holds, what, done):
    if not holds:
        sys.exit(f"{what}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")


def refused(what, *command):
    done = run(*command)
    expect(done.returncode == 2 and what in done.stderr, f"{command}: expected {what!r}", done)


def make_files(folder):
    """The paths of sorted and of shuffled lines, and what both hold."""
    paths = [os.path.join(folder, f"{order}.csv") for order in ("sorted", "shuffled")]
    contents = []
    for order, path in zip(("sorted", "shuffled"), paths):
        done = run(GEN, f"--path={path}", SCALE, f"--order={order}", "--json=-")
        expect(done.returncode == 0, "a file is made", done)
        contents.append(json.loads(done.stdout)["content"])
    with open(paths[0], encoding="ascii") as in_order, open(paths[1], encoding="ascii") as in_none:
        lines, others = in_order.readlines(), in_none.readlines()
    if contents[0] != contents[1] or len(lines) != contents[0]["rows"] or lines == others:
        sys.exit(f"two files of the same lines: {contents}")
    return (*paths, contents[0])


def check_content(done, content):
    expect(done.returncode == 0, "a file is loaded", done)
    got = json.loads(done.stdout)
    expect(all(content[field] == found for field, found in got["content"].items()) and
           got["seconds"] > 0 and got["settled_seconds"] >= got["seconds"] and
           got["input_bytes"] > 1 << 20 and got["mb_per_s"] > 0, f"all of {content}", done)
    return got


def check_programs(folder, paths, content):
    for engine in loaders.ENGINES:
        if reason := loaders.missing(engine, folder):
            print(f"{engine}: skipped: {reason}")
            continue
        for number, path in enumerate(paths):
            database = os.path.join(folder, f"{engine}-{number}")
            got = check_content(run(*LOAD, f"--engine={engine}", f"--input={path}",
                                    f"--path={database}", "--memory_mib=64"), content)
            if engine != "device" and not (got["content"]["rows"] == content["rows"] and
                                           1 << 20 < got["resident_bytes_max"] < 1 << 29):
                sys.exit(f"a result of {engine}: {got}")


def check_what_palimpsest_holds(folder, sorted_file):
    """It says no sums: the rows themselves are what they were."""
    for number in range(2):
        done = run(TOOL, "dump", os.path.join(folder, f"palimpsest-{number}", "database"), "lineitem",
                   "--header=off")
        with open(sorted_file, encoding="ascii") as file:
            lines = [line.split(",")[:4] for line in file]
        expect([line.split(",")[:4] for line in done.stdout.splitlines()] == lines, "all rows", done)


def check_peers(folder, paths, content):
    if PEERS is None:
        print("csv_load_peers: skipped: it is not built (PALIMPSEST_BENCH_PEERS)")
        return
    for engine in ("rocksdb", "wiredtiger", "lmdb"):
        for number, (path, flag) in enumerate(zip(paths, ("--sorted", "--nosorted"))):
            done = run(PEERS, f"--engine={engine}", f"--input={path}", flag, "--memory_mib=32",
                       f"--path={folder}/{engine}-{number}", "--json=-")
            if check_content(done, content)["data_bytes"] < content["rows"] * 80:
                sys.exit(f"all rows are in the files: {done.stdout}")
        done = run(PEERS, f"--engine={engine}", f"--input={paths[1]}", "--sorted",
                   f"--path={folder}/{engine}-2")
        expect(done.returncode == 1 and engine in done.stderr, "rows that are not sorted", done)
    with open(os.path.join(folder, "damaged.csv"), "w", encoding="ascii") as file:
        file.write("1,2,3\n")
    done = run(PEERS, "--engine=lmdb", f"--input={folder}/damaged.csv", f"--path={folder}/damaged")
    expect(done.returncode == 1 and "damaged.csv:1: 3 fields" in done.stderr, "no line", done)
    refused("--engine=mysql: this binary knows lmdb", PEERS, "--engine=mysql")
    lmdb = (PEERS, "--engine=lmdb")
    refused("--input: name the file", *lmdb)
    refused("--path: name the directory", *lmdb, f"--input={paths[0]}")
    refused("the file does not exist", *lmdb, "--input=no-such-file", f"--path={folder}/other")
    refused("--memory_mib=1: must be from 8", *lmdb, f"--input={paths[0]}", f"--path={folder}/other",
            "--memory_mib=1")
    refused("an empty directory", *lmdb, f"--input={paths[0]}", f"--path={folder}")


def check_refusals(folder, sorted_file):
    refused("--path: name the file", GEN)
    refused(": exists already", GEN, f"--path={sorted_file}")
    refused("--order=random: unknown; one of sorted, shuffled", GEN, f"--path={folder}/other",
            "--order=random")
    refused("--scale_factor=0: must be from", GEN, f"--path={folder}/other", "--scale_factor=0")
    path = f"--path={folder}/other"
    refused("invalid choice: 'oracle'", *LOAD, "--engine=oracle", path, f"--input={sorted_file}")
    refused("the file does not exist", *LOAD, "--engine=device", path, "--input=no-such-file")
    refused("at least 64", *LOAD, "--engine=device", path, f"--input={sorted_file}", "--memory_mib=8")
    refused("an empty directory", *LOAD, "--engine=device", f"--path={folder}",
            f"--input={sorted_file}")


def processes_below(folder):
    """Those whose command line names the folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if folder.encode() in file.read() and int(pid) != os.getpid():
                    found.append(pid)
        except OSError:
            continue
    return found


def check_servers_end(folder, sorted_file):
    """However the load ends, the server ends with it, and a load that was asked to end cleans up."""
    if loaders.missing("postgresql_logged", folder):
        return
    for how in (signal.SIGTERM, signal.SIGKILL):
        path = os.path.join(folder, f"interrupted-{int(how)}")
        log = os.path.join(path, "server.log")
        with subprocess.Popen([*LOAD, "--engine=postgresql_logged", f"--input={sorted_file}",
                               f"--path={path}"], stdout=subprocess.DEVNULL,
                              env={**os.environ, "TMPDIR": folder}) as process:
            while process.poll() is None and not os.path.exists(log):
                time.sleep(0.01)
            process.send_signal(how)
            process.wait(60)
        end = time.monotonic() + 60
        while (left := processes_below(path)) and time.monotonic() < end:
            time.sleep(0.05)
        if left or (how == signal.SIGTERM and os.listdir(path) != ["server.log"]):
            sys.exit(f"after {how.name}: processes {left}, files {os.listdir(path)}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        os.chmod(temporary, 0o755)  # a server of another user gets there
        in_order, in_none, held = make_files(temporary)
        check_refusals(temporary, in_order)
        check_programs(temporary, (in_order, in_none), held)
        check_what_palimpsest_holds(temporary, in_order)
        check_peers(temporary, (in_order, in_none), held)
        check_servers_end(temporary, in_order)
