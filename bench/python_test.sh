#!/bin/sh
# python_test.sh TEST.py ARGUMENT...: a Python test as a Bazel test.
exec python3 -B "$@"
