"""bench_check passes what is within the bars, and nothing else."""

import contextlib
import io
import json
import os
import tempfile
import unittest

import bench_check


def result(system, rounds_p50_us, name="unary/4/1024"):
    return {"system": system, "name": name, "rounds_p50_us": rounds_p50_us}


def idle(percent):
    return {"system": "locket", "name": "idle_cpu", "percent": percent}


def results(locket=2.0, floor=1.0, grpc=75.0, idle_percent=0.01):
    return [
        result("locket", [locket] * 9),
        result("floor", [floor] * 9),
        result("grpc-unix", [grpc] * 9),
        idle(idle_percent),
    ]


def report(rows, optimized=True):
    return {"machine": {"optimized": optimized}, "results": rows}


class BenchCheckTest(unittest.TestCase):
    def check(self, *reports, extra=()):
        """The exit status and what was printed."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for i, content in enumerate(reports):
                paths.append(os.path.join(folder, "%d.json" % i))
                with open(paths[-1], "w", encoding="utf-8") as file:
                    file.write(content if isinstance(content, str) else json.dumps(content))
            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                status = bench_check.main([*paths, "--issue=2", *extra])
            return status, out.getvalue()

    def assert_fails(self, rows, *texts):
        status, text = self.check(report(rows))
        self.assertEqual(status, 1, text)
        self.assertIn("FAIL", text)
        for expected in texts:
            self.assertIn(expected, text)

    def test_good_figures_pass_with_a_line_per_bar(self):
        status, text = self.check(report(results()))
        self.assertEqual(status, 0, text)
        self.assertEqual(text.count(" pass"), len(text.splitlines()))
        self.assertNotIn("FAIL", text)
        self.assertIn("unary/4/1024 locket / floor", text)
        self.assertIn("37.5", text)

    def test_figures_at_the_bar_pass(self):
        status, text = self.check(report(results(locket=3.0, floor=1.0, grpc=90.0)))
        self.assertEqual(status, 0, text)

    def test_too_far_from_the_floor_fails(self):
        self.assert_fails(results(locket=3.1, grpc=1000.0), "3.1")

    def test_too_near_to_grpc_fails(self):
        self.assert_fails(results(locket=2.0, grpc=59.0), "29.5")

    def test_a_busy_idle_process_fails(self):
        self.assert_fails(results(idle_percent=0.1), "idle_cpu")

    def test_the_median_of_the_ratios_counts_not_the_ratio_of_the_medians(self):
        rows = results()
        # Round by round always twice the floor, on a machine that gets slower meanwhile; and three
        # rounds that something disturbed.
        floor = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
        locket = [2 * f for f in floor]
        locket[0], locket[1], locket[8] = 50.0, 60.0, 90.0
        rows[0], rows[1], rows[2] = (
            result("locket", locket),
            result("floor", floor),
            result("grpc-unix", [100 * f for f in floor]),
        )
        status, text = self.check(report(rows))
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"locket / floor +2 ")

    def test_a_missing_result_fails_and_is_named(self):
        for missing in range(3):
            rows = results()
            system = rows.pop(missing)["system"]
            self.assert_fails(rows, "no result of " + system)
        self.assert_fails(results()[:3], "no result of locket")

    def test_fewer_than_nine_rounds_fail(self):
        rows = results()
        for row in rows[:3]:
            row["rounds_p50_us"] = row["rounds_p50_us"][:8]
        self.assert_fails(rows, "8 rounds, not 9")

    def test_rounds_that_cannot_be_paired_fail(self):
        rows = results()
        rows[0]["rounds_p50_us"].append(2.0)
        self.assert_fails(rows, "not of one run")

    def test_figures_that_are_no_figures_fail(self):
        for value in (0.0, -1.0, "NaN", None, float("nan"), True):
            rows = results()
            rows[1]["rounds_p50_us"][4] = value
            self.assert_fails(rows, "a round of floor")
        for percent in (-0.1, "0", None, float("nan")):
            self.assert_fails(results(idle_percent=percent), "idle_cpu")

    def test_a_debug_build_fails(self):
        status, text = self.check(report(results(), optimized=False))
        self.assertEqual(status, 1, text)
        self.assertIn("optimised", text)

    def test_several_files_are_judged_together(self):
        status, text = self.check(report(results()[:3]), report(results()[3:]))
        self.assertEqual(status, 0, text)

    def test_the_same_result_twice_is_refused(self):
        status, text = self.check(report(results()), report(results()))
        self.assertEqual(status, 2, text)
        self.assertIn("second result", text)

    def test_what_is_no_report_is_refused(self):
        for content in ("", "{", "[]", "{}", '{"results": 3}'):
            status, text = self.check(content)
            self.assertEqual(status, 2, text)

    def test_an_order_without_bars_is_refused(self):
        status, text = self.check(report(results()), extra=["--issue=999"])
        self.assertEqual(status, 2, text)

    def test_every_bar_of_the_table_is_of_a_known_kind(self):
        for bar in bench_check.read_json(bench_check.BARS):
            bench_check.judge(bar, {})


if __name__ == "__main__":
    unittest.main()
