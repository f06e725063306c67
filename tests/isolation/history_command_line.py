"""Checks history and history_check as people meet them: what they refuse, and what is left when
they are told to stop. The two binaries are the arguments."""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HISTORY, CHECK = sys.argv[1:3]


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=60)


def event(kind, index, operations='[["append",1,1]]', process=1):
    return f'{{"type":"{kind}","process":{process},"index":{index},"value":{operations}}}\n'


COMMITTED = event("invoke", 0) + event("ok", 1)


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def refused(self, done, *messages):
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        for message in messages:
            self.assertIn(message, done.stderr)


class Check(Command):
    def check(self, text):
        with open(self.at("file"), "w", encoding="utf-8") as file:
            file.write(text)
        return run(CHECK, self.at("file"), "--level=snapshot")

    def test_one_transaction_is_a_history(self):
        self.assertEqual(self.check(COMMITTED).returncode, 0)

    def test_nothing_to_judge(self):
        for text in "", event("invoke", 0), event("invoke", 0) + event("info", 1):
            self.refused(self.check(text), self.at("file"), "no transaction has committed")

    def test_no_file(self):
        self.refused(run(CHECK, self.folder, "--level=snapshot"), self.folder, "directory")
        self.refused(run(CHECK, self.at("none"), "--level=snapshot"), self.at("none"))

    def test_events_are_whole(self):
        for line, message in (
                ('{"process":1,"index":2,"value":[]}', "without type"),
                ('{"type":"invoke","index":2,"value":[]}', "without process"),
                ('{"type":"invoke","process":1,"value":[]}', "without index"),
                ('{"type":"invoke","process":1,"index":2}', "without value"),
                ('{"type":"invoke","type":"invoke","process":1,"index":2,"value":[]}',
                 "type is named twice"),
                ('{"type":"invoke","process":1,"index":2,"index":3,"value":[]}',
                 "index is named twice"),
                ('{"type":"invoke","process":1,"index":2,"value":[],"value":[]}',
                 "value is named twice"),
                ('{"type":"begin","process":1,"index":2,"value":[]}', "type"),
                ('{"type":"invoke","process":1,"index":-2,"value":[]}', "index"),
                ('{"type":"invoke","process":1,"index":18446744073709551615,"value":[]}', "index"),
                ('{"type":"invoke","process":1,"index":2,"value":[["append",1]]}', "value"),
                ('{"type":"invoke","process":1,"index":2,"value":[],"more":1}', "more"),
                ('{"type":"invoke","process":1,"index":2,"value":[]', "}"),
                ('{"type":"invoke","process":1,"index":2,"value":[]} 1', "followed by something else"),
                ('', "{"),
        ):
            self.refused(self.check(COMMITTED + line + "\n"), self.at("file") + ":3: ", message)

    def test_events_make_a_history(self):
        for line, message in ((event("ok", 2), "has begun none"),
                              (event("invoke", 1), "index"),
                              (event("invoke", 2, '[["w",1,2]]'), "registers")):
            self.refused(self.check(COMMITTED + line), self.at("file") + ":3: ", message)
        self.refused(self.check(COMMITTED + event("invoke", 2) + event("ok", 3)), self.at("file"),
                     "written twice")


class History(Command):
    def history(self, *flags, path="db", jsonl="h.jsonl"):
        return run(HISTORY, f"--path={self.at(path)}", f"--jsonl={self.at(jsonl)}",
                   "--transactions=10", "--seconds=1", *flags)

    def test_ranges(self):
        for flag in ("--crashes=4294967296", "--keys=1000000000000", "--memory_mib=1099511627776",
                     "--version_kib=1099511627776", "--crashes=-1", "--keys=0"):
            self.refused(self.history(flag), flag, "must be from")

    def test_outputs_are_apart(self):
        os.symlink("h.jsonl", self.at("dangling"))
        os.mkdir(self.at("folder"))
        os.symlink("folder", self.at("linked"))
        for name in "h.jsonl", "./h.jsonl", "folder/../h.jsonl", "dangling":
            self.refused(self.history(f"--edn={self.at(name)}"), "--edn", "--jsonl")
        self.refused(self.history(f"--edn={self.at('linked', 'h')}", jsonl="folder/h"), "--edn")
        self.assertEqual(sorted(os.listdir(self.folder)), ["dangling", "folder", "linked"])

    def test_the_same_file_by_two_names(self):
        with open(self.at("h.jsonl"), "w", encoding="utf-8"):
            os.link(self.at("h.jsonl"), self.at("h.edn"))
        self.refused(self.history(f"--edn={self.at('h.edn')}"), "--edn", "--jsonl")

    def test_outputs_are_not_in_the_database(self):
        for name in "db", "db/h", "db/deep/h", "./db/../db/h":
            self.refused(self.history(jsonl=name), "--jsonl", "--path")
            self.refused(self.history(f"--edn={self.at(name)}"), "--edn", "--path")
        self.refused(self.history(path="h.jsonl/db"), "--jsonl", "--path")
        self.refused(self.history(path="db/", jsonl="db/h"), "--jsonl", "--path")
        self.assertEqual(os.listdir(self.folder), [])

    def start(self):
        """A process that is going to live long, and its child."""
        process = subprocess.Popen(
            [HISTORY, f"--path={self.at('db')}", f"--jsonl={self.at('h.jsonl')}", "--crashes=1",
             "--seconds=1000000"], stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        children = f"/proc/{process.pid}/task/{process.pid}/children"
        for _ in range(1000):
            with open(children, encoding="ascii") as file:
                found = file.read().split()
            if found and os.path.exists(self.at("h.jsonl")) and os.path.getsize(self.at("h.jsonl")):
                return process, int(found[0])
            time.sleep(0.01)
        self.fail("no child was started")

    def expect_gone(self, pid):
        for _ in range(1000):
            try:
                with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                    if file.read().rpartition(")")[2].split()[0] in "ZX":
                        return
            except FileNotFoundError:
                return
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        self.fail("the child goes on")

    def test_a_child_does_not_outlive_its_parent(self):
        for asked, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 130),
                            (signal.SIGINT, 130)):
            with self.subTest(signal=asked):
                process, child = self.start()
                process.send_signal(asked)
                self.assertEqual(process.wait(60), code)
                self.expect_gone(child)
            subprocess.run(["rm", "-rf", self.at("db"), self.at("h.jsonl")], check=True)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
