// All of Locket's public RPC interface; users include it as "locket/locket.h".
#ifndef LOCKET_LOCKET_H_
#define LOCKET_LOCKET_H_

#if __cplusplus < 201703L
#error "Locket needs C++17 or later; with Bazel: build --cxxopt=-std=c++17 in the .bazelrc"
#endif

#include "locket/rpc/channel.h"
#include "locket/rpc/channel_arguments.h"
#include "locket/rpc/client_context.h"
#include "locket/rpc/create_channel.h"
#include "locket/rpc/credentials.h"
#include "locket/rpc/server.h"
#include "locket/rpc/server_builder.h"
#include "locket/rpc/server_context.h"
#include "locket/rpc/service.h"
#include "locket/rpc/status.h"
#include "locket/rpc/stub_options.h"
#include "locket/rpc/time_point.h"
#include "locket/transport/log.h"

#endif  // LOCKET_LOCKET_H_
