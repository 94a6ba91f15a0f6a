"""A cc_library of what a protoc plugin generates from a proto_library; for any plugin.

cc_locket_library and third_party/grpc.bzl are this with their plugin filled in.
"""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("@rules_proto//proto:defs.bzl", "ProtoInfo")

_VIRTUAL = "/_virtual_imports/"

def _import_path(src):
    """The name by which other .proto files import this one."""
    path = src.short_path
    if _VIRTUAL in path:  # strip_import_prefix or import_prefix: <package>/_virtual_imports/<target>/<import path>
        return path.split(_VIRTUAL)[1].partition("/")[2]
    if path.startswith("../"):  # ../<repository>/<import path>
        return path.split("/", 2)[2]
    return path

def _output_root(src):
    """Where, below the package of the proto_library, import paths begin; None: at the package's repository."""
    if _VIRTUAL not in src.short_path:
        return None
    return _VIRTUAL[1:] + src.short_path.split(_VIRTUAL)[1].partition("/")[0]

def _join(*parts):
    return "/".join([part for part in parts if part])

def _protoc_plugin_impl(ctx):
    proto = ctx.attr.proto[ProtoInfo]
    owner = ctx.attr.proto.label
    if (owner.workspace_name, owner.package) != (ctx.label.workspace_name, ctx.label.package):
        fail("%s: the proto_library %s must be in the same package" % (ctx.label, owner))

    includes = {}
    headers, sources = [], []
    out = _join(ctx.bin_dir.path, ctx.label.workspace_root)
    for src in proto.direct_sources:
        base = _import_path(src)[:-len(".proto")] + ctx.attr.suffix
        root = _output_root(src)
        if root:
            out = _join(ctx.bin_dir.path, ctx.label.workspace_root, ctx.label.package, root)
            includes[out] = True
            base = _join(root, base)
        elif ctx.label.package:
            base = base[len(ctx.label.package) + 1:]
        headers.append(ctx.actions.declare_file(base + ".h"))
        sources.append(ctx.actions.declare_file(base + ".cc"))

    args = ctx.actions.args()
    args.add(ctx.executable.plugin, format = "--plugin=protoc-gen-plugin=%s")
    args.add(out, format = "--plugin_out=%s")
    args.add_all(proto.transitive_proto_path, format_each = "-I%s")
    args.add(ctx.bin_dir.path, format = "-I%s")  # .proto files that are generated themselves
    args.add_all([_import_path(src) for src in proto.direct_sources])
    ctx.actions.run(
        executable = ctx.executable._protoc,
        tools = [ctx.executable.plugin],
        arguments = [args],
        inputs = proto.transitive_sources,
        outputs = headers + sources,
        mnemonic = "ProtocPlugin",
        progress_message = "Generating *%s.h of %s" % (ctx.attr.suffix, owner),
    )
    return [
        CcInfo(compilation_context = cc_common.create_compilation_context(
            includes = depset(includes.keys()),
        )),
        OutputGroupInfo(hdrs = depset(headers), srcs = depset(sources)),
    ]

_protoc_plugin = rule(
    implementation = _protoc_plugin_impl,
    attrs = {
        "plugin": attr.label(mandatory = True, executable = True, cfg = "exec"),
        "proto": attr.label(mandatory = True, providers = [ProtoInfo]),
        "suffix": attr.string(mandatory = True),
        "_protoc": attr.label(default = "@com_google_protobuf//:protoc", executable = True, cfg = "exec"),
    },
)

def cc_protoc_plugin_library(name, proto, plugin, suffix, deps, **kwargs):
    """Runs a protoc plugin over the files of a proto_library, and compiles what it writes.

    Args:
      name: the library; include "<import path of the .proto, less .proto><suffix>.h".
      proto: the proto_library, in the same package.
      plugin: the plugin, a label of an executable; in macros that other workspaces load, str(Label(...)).
      suffix: foo.proto becomes foo<suffix>.h and foo<suffix>.cc.
      deps: the cc_proto_library, and what the generated code includes.
      **kwargs: for the cc_library.
    """
    codegen = name + "_codegen"
    hidden = {key: kwargs[key] for key in ["testonly", "tags"] if key in kwargs}
    _protoc_plugin(
        name = codegen,
        plugin = plugin,
        proto = proto,
        suffix = suffix,
        visibility = ["//visibility:private"],
        **hidden
    )
    for group in ["hdrs", "srcs"]:
        native.filegroup(
            name = "%s_%s" % (name, group),
            srcs = [":" + codegen],
            output_group = group,
            visibility = ["//visibility:private"],
            **hidden
        )
    cc_library(
        name = name,
        srcs = [":%s_srcs" % name],
        hdrs = [":%s_hdrs" % name],
        deps = [":" + codegen] + deps,
        **kwargs
    )
