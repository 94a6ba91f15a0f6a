"""The repositories that Locket and its users need, from Debian's packages: nothing is fetched."""

load(
    "//third_party:system.bzl",
    "system_absl",
    "system_repository",
    "system_rules_cc",
)

_BAZEL_RULES = "/usr/share/bazel/"

def _missing(name):
    return name not in native.existing_rules()

def _debian_rules(name, path):
    if _missing(name):
        native.local_repository(name = name, path = _BAZEL_RULES + path)

def _debian_library(name, build_file, paths = []):
    if _missing(name):
        system_repository(
            name = name,
            build_file = Label("//third_party:" + build_file),
            paths = paths,
        )

def locket_deps():
    """Declares each repository that the workspace has not declared before.

    A workspace that brings its own protobuf, Abseil or gRPC declares it first, under the same name.
    """

    # @bazel_tools itself loads rules_cc and rules_java, and would download them otherwise.
    if _missing("rules_cc"):
        system_rules_cc(name = "rules_cc")
    _debian_rules("rules_java", "rules/java")
    _debian_rules("rules_proto", "rules/proto")
    _debian_rules("bazel_skylib", "tools/skylib")

    if _missing("com_google_absl"):
        system_absl(name = "com_google_absl")
    _debian_library("com_google_protobuf", "protobuf.BUILD", [
        "/usr/bin/protoc",
        "/usr/include/google/protobuf",
    ])
    _debian_library("com_google_googletest", "googletest.BUILD")
    _debian_library("com_github_google_benchmark", "benchmark.BUILD")
    _debian_library("com_github_grpc_grpc", "grpc.BUILD", ["/usr/bin/grpc_cpp_plugin"])
