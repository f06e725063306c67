"""Code shared by the main programs of the comparisons."""
import os
import signal
import sys


class Failure(Exception):
    """Why a comparison cannot go on."""


def say(line):
    print(f"compare: {line}", flush=True)


def build_directory():
    """The root of the project."""
    here = os.path.dirname(os.path.abspath(__file__))
    return os.path.join(os.path.dirname(os.path.dirname(here)), "build")


def add_places(parser, data):
    """The directories of binaries, data and results."""
    build = build_directory()
    parser.add_argument("--build", default=os.path.join(build, "release", "experiments"),
                        help="directory of the binaries")
    parser.add_argument("--data", default=os.path.join(build, data),
                        help="directory for data, on the disk to be measured; emptied afterwards")
    parser.add_argument("--results", default=os.path.join(build, "bench-results"))


def raise_if_any(failed):
    if failed:
        runs = "a run" if len(failed) == 1 else f"{len(failed)} runs"
        raise Failure("\n  ".join([f"{runs} failed:", *failed]))


def run(comparison):
    """Checks, runs and finishes the comparison; does not return after a failure. Failed runs are reported after
    the tables and make it exit with 1; missed goals do not: measurements vary.

    `comparison.failed`: the runs that failed, a text each."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        comparison.check()
        try:
            comparison.run()
        finally:
            comparison.finish()
        raise_if_any(comparison.failed)
    except KeyboardInterrupt:
        say("interrupted; data removed")
        sys.exit(130)
    except Failure as failure:
        say(str(failure))
        sys.exit(1)
