"""cc_locket_library: the client stubs and server skeletons of a proto_library."""

load("//codegen:protoc_plugin.bzl", "cc_protoc_plugin_library")
load("//tools:cc.bzl", "NO_DYNAMIC_INITIALISERS")

def cc_locket_library(name, proto, deps, copts = [], **kwargs):
    """The .locket.h and .locket.cc of each file of a proto_library, with the runtime that they need.

    Args:
      name: the library; include "<import path of the .proto, less .proto>.locket.h".
      proto: the proto_library, in the same package.
      deps: its cc_proto_library.
      copts: of the generated code, after our own.
      **kwargs: for the cc_library: visibility, testonly, ...
    """
    cc_protoc_plugin_library(
        name = name,
        copts = ["-Wall", "-Wextra"] + NO_DYNAMIC_INITIALISERS + copts,
        plugin = str(Label("//codegen:protoc-gen-locket")),
        proto = proto,
        suffix = ".locket",
        deps = deps + [str(Label("//rpc:generated_support"))],
        **kwargs
    )
