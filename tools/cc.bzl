"""cc_library, cc_binary and cc_test of Locket's own sources: C++20 and our warnings, in any workspace.

A user's workspace reads no .bazelrc of ours, so whatever our sources need stands here. Headers are
included as "locket/<path in this repository>", by users and by ourselves.
"""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")

# A workspace may turn exceptions and RTTI off; our own sources need them, our headers do not.
_OWN = ["-std=c++20", "-Wall", "-Wextra", "-fexceptions", "-frtti"]

# We are linked into other people's programs: nothing runs before main().
NO_DYNAMIC_INITIALISERS = select({
    str(Label("//tools:clang")): ["-Werror=global-constructors"],
    "//conditions:default": [],
})

def _include_prefix():
    return "locket/" + native.package_name()

def locket_cc_library(name, copts = [], **kwargs):
    cc_library(
        name = name,
        copts = _OWN + NO_DYNAMIC_INITIALISERS + copts,
        include_prefix = kwargs.pop("include_prefix", _include_prefix()),
        **kwargs
    )

def locket_cc_test_library(name, copts = [], **kwargs):
    """A library of tests or benchmarks alone, which may have dynamic initialisers."""
    cc_library(
        name = name,
        copts = _OWN + copts,
        include_prefix = _include_prefix(),
        testonly = True,
        **kwargs
    )

def locket_cc_binary(name, copts = [], **kwargs):
    cc_binary(name = name, copts = _OWN + copts, **kwargs)

def locket_cc_test(name, copts = [], size = "small", **kwargs):
    cc_test(name = name, copts = _OWN + copts, size = size, **kwargs)
