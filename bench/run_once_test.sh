#!/bin/bash
# Runs a program; passes if it ends with 0.
exec "$@"
