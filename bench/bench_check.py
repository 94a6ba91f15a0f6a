#!/usr/bin/env python3
"""Judges the JSON of benchmarks by the bars of bars.json: tools/bench_check FILE...

One line per bar, `name value bar pass|FAIL`, and how far the rounds lie apart; exits with 1 if one fails, with 2 if the files cannot be
judged at all. A result that is missing, or has too few rounds, fails its bar; one that the flags of its
run left out (--systems, --filter, no --idle) is named, and fails nothing.

A bar is one of
  {"system": S, "name": N, "slower_than": R, "times_at_most": X}   p50 of S / p50 of R
  {"system": S, "name": N, "faster_than": R, "times_at_least": X}  p50 of R / p50 of S
  {"system": S, "name": N, "slower_than_name": M, "times_at_most": X}  p50 of N / p50 of M, both of S
  {"system": S, "name": N, "field": F, "below": X}                 the figure F itself
  {"system": S, "name": N, "field": F, "at_least": X}              the same
with "issue", the order that set it. The first three are medians of ratios taken round by round:
round i of two systems ran one after the other, so what disturbed one disturbed the other.
"""

import argparse
import json
import math
import os
import statistics
import sys

ROUNDS = 9

BARS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "bars.json")

# What each kind of bar consists of, beside "issue", "system" and "name".
SLOWER = {"slower_than", "times_at_most"}
FASTER = {"faster_than", "times_at_least"}
SLOWER_NAME = {"slower_than_name", "times_at_most"}
BELOW = {"field", "below"}
ABOVE = {"field", "at_least"}


PASS, FAIL, LEFT_OUT = "pass", "FAIL", "-"


class Unjudgeable(Exception):
    """The files or the bars make no sense."""


class Missing(Exception):
    """The figure that a bar asks for is not there."""


class LeftOut(Exception):
    """Nor should it be: the run was told to leave it out."""


class Results:
    """All results by (system, name), and what the runs left out."""

    def __init__(self):
        self.by_key = {}
        self.systems_left_out = set()
        self.benchmarks_left_out = set()

    def find(self, system, name):
        if (system, name) in self.by_key:
            return self.by_key[(system, name)]
        if system in self.systems_left_out or name in self.benchmarks_left_out:
            raise LeftOut("left out by the run's flags")
        raise Missing("no result of %s" % system)


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise Unjudgeable("%s: %s" % (path, error)) from error


def read_reports(paths):
    """The Results, and the files that are not of an optimised build."""
    results = Results()
    slow_builds = []
    for path in paths:
        report = read_json(path)
        if not isinstance(report, dict) or not isinstance(report.get("results"), list):
            raise Unjudgeable('%s: no object with "results"' % path)
        if not report.get("machine", {}).get("optimized", False):
            slow_builds.append(path)
        results.systems_left_out.update(report.get("systems_left_out", []))
        results.benchmarks_left_out.update(report.get("benchmarks_left_out", []))
        for result in report["results"]:
            key = (result.get("system"), result.get("name"))
            if key in results.by_key:
                raise Unjudgeable("%s: a second result for %s %s" % ((path,) + key))
            results.by_key[key] = result
    return results, slow_builds


def number(value, what):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Missing("%s is no number: %r" % (what, value))
    return value


def rounds(results, system, name):
    values = results.find(system, name).get("rounds_p50_us")
    if not isinstance(values, list):
        raise Missing("%s has no rounds_p50_us" % system)
    if len(values) < ROUNDS:
        raise Missing("%s has %d rounds, not %d" % (system, len(values), ROUNDS))
    for value in values:
        if number(value, "a round of " + system) <= 0:
            raise Missing("a round of %s is %r us" % (system, value))
    return values


def ratios(results, over, under):
    """Round by round, p50 of `over` / p50 of `under`, each (system, name)."""
    numerators, denominators = rounds(results, *over), rounds(results, *under)
    if len(numerators) != len(denominators):
        raise Missing(
            "%s %s has %d rounds, %s %s has %d: not of one run"
            % (over + (len(numerators),) + under + (len(denominators),))
        )
    return [a / b for a, b in zip(numerators, denominators)]


def judge(bar, results):
    """(what is judged, its value or None, the bar, PASS, FAIL or LEFT_OUT, a remark)."""
    kind = set(bar) - {"issue", "system", "name"}
    if kind not in (SLOWER, FASTER, SLOWER_NAME, BELOW, ABOVE) or not {"system", "name"} <= set(bar):
        raise Unjudgeable("no such kind of bar: %s" % json.dumps(bar))
    system, name = bar["system"], bar["name"]
    over, under = (system, name), (bar.get("slower_than", system), name)
    what = "%s %s / %s" % (name, system, under[0])
    if kind == FASTER:
        over, under = (bar["faster_than"], name), (system, name)
        what = "%s %s / %s" % (name, over[0], system)
    elif kind == SLOWER_NAME:
        under = (system, bar["slower_than_name"])
        what = "%s / %s %s" % (name, under[1], system)
    elif kind in (BELOW, ABOVE):
        what = "%s %s %s" % (name, system, bar["field"])
    if kind == BELOW:
        limit = "< %g" % bar["below"]
    elif kind == ABOVE:
        limit = ">= %g" % bar["at_least"]
    elif kind == FASTER:
        limit = ">= %g times" % bar["times_at_least"]
    else:
        limit = "<= %g times" % bar["times_at_most"]
    try:
        if kind in (BELOW, ABOVE):
            value = number(results.find(system, name).get(bar["field"]), "its " + bar["field"])
            good = 0 <= value < bar["below"] if kind == BELOW else value >= bar["at_least"]
            return what, value, limit, PASS if good else FAIL, ""
        by_round = ratios(results, over, under)
    except Missing as missing:
        return what, None, limit, FAIL, str(missing)
    except LeftOut as left_out:
        return what, None, limit, LEFT_OUT, str(left_out)
    value = statistics.median(by_round)
    good = value >= bar["times_at_least"] if kind == FASTER else value <= bar["times_at_most"]
    remark = "rounds %.4g to %.4g" % (min(by_round), max(by_round))
    return what, value, limit, PASS if good else FAIL, remark


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("files", metavar="FILE", nargs="+", help="written with --json")
    parser.add_argument("--bars", default=BARS, help="the table of bars (%(default)s)")
    parser.add_argument("--issue", type=int, help="only the bars of this order")
    options = parser.parse_args(arguments)
    try:
        bars = read_json(options.bars)
        if options.issue is not None:
            bars = [bar for bar in bars if bar.get("issue") == options.issue]
        if not bars:
            raise Unjudgeable("no bars to judge by")
        results, slow_builds = read_reports(options.files)
        verdicts = [judge(bar, results) for bar in bars]
    except Unjudgeable as error:
        print("bench_check: %s" % error, file=sys.stderr)
        return 2
    for what, value, limit, verdict, remark in verdicts:
        shown = "-" if value is None else "%.4g" % value
        line = "%-44s %10s  %-12s %s" % (what, shown, limit, verdict)
        print(line + (": " + remark if remark else ""))
    for path in slow_builds:
        print("%s: not of an optimised build (--config=opt)  FAIL" % path)
    return 1 if any(verdict[3] == FAIL for verdict in verdicts) or slow_builds else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
