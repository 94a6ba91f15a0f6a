"""Fuzzers, and their corpora as ordinary tests."""

load("//tools:cc.bzl", "locket_cc_binary", "locket_cc_test", "locket_cc_test_library")

def locket_fuzz(name, srcs, deps):
    """A fuzzer: srcs define LLVMFuzzerTestOneInput().

    `name` is libFuzzer's program, for `tools/fuzz` alone. `name`_corpus_test runs the same function
    over the files of the folder `name`_corpus, in every configuration and with every compiler.
    """
    corpus = name + "_corpus"
    locket_cc_test_library(
        name = name + "_body",
        srcs = srcs,
        deps = deps,
        alwayslink = True,
    )
    locket_cc_binary(
        name = name,
        testonly = True,
        linkopts = ["-fsanitize=fuzzer"],
        tags = [
            "fuzzer",
            "manual",
        ],
        deps = [":" + name + "_body"],
    )
    locket_cc_test(
        name = name + "_corpus_test",
        data = native.glob([corpus + "/*"]),
        env = {"CORPUS": native.package_name() + "/" + corpus},
        deps = [
            ":" + name + "_body",
            "//tools:replay_corpus",
        ],
    )
