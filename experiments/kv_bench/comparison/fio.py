"""The device's limit: random direct reads by fio, at the engines' block size and depth."""
import json
import shutil
import subprocess


class Fio:
    """Reads from one file of its own on the file system the engines use."""

    def __init__(self, file, size_bytes, start):
        self.file = file
        self.size_bytes = size_bytes
        self.start = start  # how processes are run: start(command, timeout_seconds) -> stdout
        self.engine = None

    @staticmethod
    def available():
        return shutil.which("fio") is not None

    def prepare(self):
        """Writes the file wholly: reads of holes would not reach the device."""
        self.run("write", 1024, 1, ["--refill_buffers", "--end_fsync=1"], "psync")
        for engine in ("io_uring", "libaio"):
            try:
                self.run("randread", 4, 1, ["--time_based", "--runtime=0.2"], engine)
            except (subprocess.CalledProcessError, ValueError):
                continue
            self.engine = engine
            return
        raise RuntimeError("fio works with neither io_uring nor libaio here")

    def random_reads(self, block_kib, depth, seconds):
        """{"page_reads_per_s", "latency_us_p50", ...} of random reads with `depth` in flight."""
        report = self.run("randread", block_kib, depth,
                          ["--time_based", f"--runtime={seconds}", "--ramp_time=0.5",
                           "--randrepeat=0", "--norandommap"], self.engine)
        return summary_of(report, self.engine, block_kib, depth)

    def run(self, kind, block_kib, depth, further, engine):
        command = ["fio", "--name=probe", f"--filename={self.file}", f"--rw={kind}",
                   f"--bs={block_kib}k", f"--size={self.size_bytes}", "--direct=1",
                   f"--ioengine={engine}", f"--iodepth={depth}", "--output-format=json", *further]
        return parse(self.start(command, 600))


def parse(text):
    """fio may print warnings before its JSON."""
    begin = text.find("{")
    if begin < 0:
        raise ValueError(f"fio printed no JSON: {text[:200]}")
    report = json.loads(text[begin:])
    if any(job.get("error") for job in report["jobs"]):
        raise ValueError("fio reports an error")
    return report


def summary_of(report, engine, block_kib, depth):
    read = report["jobs"][0]["read"]
    percentiles = read["clat_ns"].get("percentile", {})
    return {"engine": f"fio, {engine}", "page_kib": block_kib, "depth": depth,
            "page_reads_per_s": read["iops"],
            "latency_us": {"p50": percentiles.get("50.000000", 0) / 1000,
                           "p99": percentiles.get("99.000000", 0) / 1000}}
