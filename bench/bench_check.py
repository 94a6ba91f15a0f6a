#!/usr/bin/env python3
"""Judges the JSON of benchmarks by the bars of bars.json: tools/bench_check FILE...

One line per bar, `name value bar pass|FAIL`, and how far the rounds lie apart; exits with 1 if one fails, with 2 if the files cannot be
judged at all. A result that is missing, or has too few rounds, fails its bar.

A bar is one of
  {"system": S, "name": N, "slower_than": R, "times_at_most": X}   p50 of S / p50 of R
  {"system": S, "name": N, "faster_than": R, "times_at_least": X}  p50 of R / p50 of S
  {"system": S, "name": N, "field": F, "below": X}                 the figure F itself
with "issue", the order that set it. The first two are medians of ratios taken round by round:
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
BELOW = {"field", "below"}


class Unjudgeable(Exception):
    """The files or the bars make no sense."""


class Missing(Exception):
    """The figure that a bar asks for is not there."""


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise Unjudgeable("%s: %s" % (path, error)) from error


def read_reports(paths):
    """All results by (system, name), and whether each file is of an optimised build."""
    results = {}
    slow_builds = []
    for path in paths:
        report = read_json(path)
        if not isinstance(report, dict) or not isinstance(report.get("results"), list):
            raise Unjudgeable('%s: no object with "results"' % path)
        if not report.get("machine", {}).get("optimized", False):
            slow_builds.append(path)
        for result in report["results"]:
            key = (result.get("system"), result.get("name"))
            if key in results:
                raise Unjudgeable("%s: a second result for %s %s" % ((path,) + key))
            results[key] = result
    return results, slow_builds


def find(results, system, name):
    if (system, name) not in results:
        raise Missing("no result of %s" % system)
    return results[(system, name)]


def number(value, what):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Missing("%s is no number: %r" % (what, value))
    return value


def rounds(results, system, name):
    values = find(results, system, name).get("rounds_p50_us")
    if not isinstance(values, list):
        raise Missing("%s has no rounds_p50_us" % system)
    if len(values) < ROUNDS:
        raise Missing("%s has %d rounds, not %d" % (system, len(values), ROUNDS))
    for value in values:
        if number(value, "a round of " + system) <= 0:
            raise Missing("a round of %s is %r us" % (system, value))
    return values


def ratios(results, name, over, under):
    """Round by round, p50 of `over` / p50 of `under`."""
    numerators, denominators = rounds(results, over, name), rounds(results, under, name)
    if len(numerators) != len(denominators):
        raise Missing(
            "%s has %d rounds, %s has %d: not of one run"
            % (over, len(numerators), under, len(denominators))
        )
    return [a / b for a, b in zip(numerators, denominators)]


def judge(bar, results):
    """(what is judged, its value or None, the bar, whether it passes, a remark)."""
    kind = set(bar) - {"issue", "system", "name"}
    if kind not in (SLOWER, FASTER, BELOW) or not {"system", "name"} <= set(bar):
        raise Unjudgeable("no such kind of bar: %s" % json.dumps(bar))
    system, name = bar["system"], bar["name"]
    if kind == BELOW:
        what = "%s %s %s" % (name, system, bar["field"])
        limit = "< %g" % bar["below"]
    elif kind == SLOWER:
        over, under = system, bar["slower_than"]
        limit = "<= %g times" % bar["times_at_most"]
    else:
        over, under = bar["faster_than"], system
        limit = ">= %g times" % bar["times_at_least"]
    if kind != BELOW:
        what = "%s %s / %s" % (name, over, under)
    try:
        if kind == BELOW:
            value = number(find(results, system, name).get(bar["field"]), "its " + bar["field"])
            return what, value, limit, 0 <= value < bar["below"], ""
        by_round = ratios(results, name, over, under)
    except Missing as missing:
        return what, None, limit, False, str(missing)
    value = statistics.median(by_round)
    good = value <= bar["times_at_most"] if kind == SLOWER else value >= bar["times_at_least"]
    return what, value, limit, good, "rounds %.4g to %.4g" % (min(by_round), max(by_round))


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
    for what, value, limit, good, remark in verdicts:
        shown = "-" if value is None else "%.4g" % value
        line = "%-44s %10s  %-12s %s" % (what, shown, limit, "pass" if good else "FAIL")
        print(line + (": " + remark if remark else ""))
    for path in slow_builds:
        print("%s: not of an optimised build (--config=opt)  FAIL" % path)
    return 0 if all(verdict[3] for verdict in verdicts) and not slow_builds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
