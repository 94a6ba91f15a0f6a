#include "locket/rpc/server.h"

#include <utility>

#include "locket/rpc/internal/server_core.h"

namespace locket {

Server::Server(std::unique_ptr<internal::ServerCore> core) : core_(std::move(core)) {}

Server::~Server() { Shutdown(); }

void Server::Wait() { core_->Wait(); }

void Server::Shutdown() { ShutdownBy(transport::Deadline::Infinite()); }

void Server::ShutdownBy(transport::Deadline deadline) { core_->Shutdown(deadline); }

}  // namespace locket
