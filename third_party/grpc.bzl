"""cc_grpc_library: grpc++'s generated code of a proto_library, for our own tests and benchmarks."""

load("//codegen:protoc_plugin.bzl", "cc_protoc_plugin_library")

def cc_grpc_library(name, proto, deps, **kwargs):
    """The .grpc.pb.h and .grpc.pb.cc of each file of a proto_library; arguments as of cc_locket_library."""
    cc_protoc_plugin_library(
        name = name,
        plugin = "@com_github_grpc_grpc//:grpc_cpp_plugin",
        proto = proto,
        suffix = ".grpc.pb",
        deps = deps + ["@com_github_grpc_grpc//:grpc++"],
        **kwargs
    )
