// Every public header of Locket.
#ifndef LOCKET_TESTS_COEXISTENCE_PUBLIC_HEADERS_H_
#define LOCKET_TESTS_COEXISTENCE_PUBLIC_HEADERS_H_

#include "locket/locket.h"
#include "locket/rpc/channel.h"
#include "locket/rpc/channel_arguments.h"
#include "locket/rpc/client_context.h"
#include "locket/rpc/create_channel.h"
#include "locket/rpc/credentials.h"
#include "locket/rpc/generated_support.h"
#include "locket/rpc/server.h"
#include "locket/rpc/server_builder.h"
#include "locket/rpc/server_context.h"
#include "locket/rpc/service.h"
#include "locket/rpc/status.h"
#include "locket/rpc/stub_options.h"
#include "locket/rpc/time_point.h"
#include "locket/transport/connection.h"
#include "locket/transport/deadline.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/listener_socket.h"
#include "locket/transport/log.h"
#include "locket/transport/mutex.h"
#include "locket/transport/socket_options.h"
#include "locket/transport/stream_socket.h"
#include "locket/transport/thread.h"
#include "locket/transport/wait_set.h"
#endif  // LOCKET_TESTS_COEXISTENCE_PUBLIC_HEADERS_H_
