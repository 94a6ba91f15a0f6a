// All that generated code includes of Locket.
#ifndef LOCKET_RPC_GENERATED_SUPPORT_H_
#define LOCKET_RPC_GENERATED_SUPPORT_H_

#if __cplusplus < 201703L
#error "Locket needs C++17 or later; with Bazel: build --cxxopt=-std=c++17 in the .bazelrc"
#endif

#include "google/protobuf/message_lite.h"
#include "locket/rpc/channel.h"
#include "locket/rpc/client_context.h"
#include "locket/rpc/internal/rpc_method.h"
#include "locket/rpc/server_context.h"
#include "locket/rpc/service.h"
#include "locket/rpc/status.h"
#include "locket/rpc/stub_options.h"

// Generated code compares this with the version it was generated for, and stops with an #error that
// names both where they differ. Counts up with each change of what is declared here.
#define LOCKET_GENERATED_CODE_VERSION 1

// The value of a macro as a string.
#define LOCKET_STRINGIFY_(x) #x
#define LOCKET_STRINGIFY(x) LOCKET_STRINGIFY_(x)

// The namespace of generated services, locket_services, is inline, unless the including file asks
// for a plain one, to name the services of grpc++ and of Locket side by side. Same names for the
// linker.
#ifdef LOCKET_SERVICES_NOT_INLINE
#define LOCKET_SERVICES_INLINE
#else
#define LOCKET_SERVICES_INLINE inline
#endif

namespace locket {
namespace internal {

// A unary call on the calling thread, from first to last. `response` is filled if the call ends OK.
Status BlockingUnaryCall(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                         const google::protobuf::MessageLite& request,
                         google::protobuf::MessageLite* response);

}  // namespace internal
}  // namespace locket

#endif  // LOCKET_RPC_GENERATED_SUPPORT_H_
