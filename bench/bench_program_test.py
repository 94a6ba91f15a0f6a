"""A benchmark program runs, writes what bench_check reads, and ends when something dies. No time is judged.

Arguments: the program, its systems, benchmarks that all of them do, the name of its idle benchmark, and
the --filter that these names pass.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BENCH = sys.argv.pop(1)
SYSTEMS = sys.argv.pop(1).split(",")
NAMES = sys.argv.pop(1).split(",")
IDLE = sys.argv.pop(1)
FILTER = sys.argv.pop(1)

BOUND_S = 60


def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except FileNotFoundError:
        return []


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition):
    deadline = time.monotonic() + BOUND_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.005)


class BenchProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir="/tmp", prefix="ubt")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = dict(os.environ, TMPDIR=self.folder)

    def start(self, *flags):
        """In a group of its own; what it leaves behind in the end fails the test."""
        process = subprocess.Popen(
            [BENCH, *flags],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start_endless(self, system):
        """A measurement that goes on, and its server and client."""
        process = self.start(
            "--systems=" + system, "--filter=" + NAMES[0], "--max_ms=600000", "--calls=1000000000"
        )
        wait_until(lambda: len(children(process.pid)) == 2 or process.poll() is not None)
        self.assertIsNone(process.poll())
        return process, children(process.pid)

    def test_every_system_gives_every_result(self):
        path = os.path.join(self.folder, "out.json")
        process = self.start(
            "--systems=" + ",".join(SYSTEMS),
            "--rounds=2",
            "--calls=20",
            "--warmup_ms=1",
            "--max_ms=20",
            "--filter=" + FILTER,
            "--idle",
            "--idle_ms=10",
            "--json=" + path,
        )
        out, err = process.communicate(timeout=4 * BOUND_S)
        self.assertEqual(process.returncode, 0, err)
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        os.remove(path)
        for key in ("cpu_model", "cpus", "kernel", "date", "command_line", "compiler"):
            self.assertTrue(report["machine"][key], key)
        rows = {(row["system"], row["name"]): row for row in report["results"]}
        self.assertEqual(len(rows), len(report["results"]))
        for system in SYSTEMS:
            for name in NAMES:
                row = rows.pop((system, name))
                self.assertEqual(len(row["rounds_p50_us"]), 2)
                for key in ("p50_us", "p99_us", "per_second"):
                    self.assertGreater(row[key], 0, (system, name, key))
            if system != "floor":
                self.assertGreaterEqual(rows.pop((system, IDLE))["percent"], 0)
            self.assertIn(system, out)
        self.assertEqual(rows, {})
        self.assertEqual(os.listdir(self.folder), [])

    def test_the_death_of_a_child_is_an_error(self):
        for system in SYSTEMS:
            for victim, role in enumerate(("server", "client")):
                with self.subTest(system=system, victim=role):
                    process, pair = self.start_endless(system)
                    os.kill(pair[victim], signal.SIGKILL)
                    _, err = process.communicate(timeout=BOUND_S)
                    self.assertEqual(process.returncode, 1, err)
                    self.assertIn("the %s of %s" % (role, system), err)
                    self.assertIn("signal 9", err)
                    self.assertEqual(os.listdir(self.folder), [])

    def test_the_children_die_with_their_parent(self):
        for system in SYSTEMS:
            with self.subTest(system=system):
                process, pair = self.start_endless(system)
                process.kill()
                process.wait(timeout=BOUND_S)
                wait_until(lambda: not any(alive(pid) for pid in pair))

    def test_an_interrupt_leaves_nothing_behind(self):
        process, pair = self.start_endless(SYSTEMS[0])
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=BOUND_S)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("interrupted", err)
        self.assertFalse(any(alive(pid) for pid in pair))
        self.assertEqual(os.listdir(self.folder), [])

    def test_an_unknown_system_is_named(self):
        process = self.start("--systems=carrier-pigeon")
        _, err = process.communicate(timeout=BOUND_S)
        self.assertEqual(process.returncode, 2)
        self.assertIn("carrier-pigeon", err)


if __name__ == "__main__":
    unittest.main()
