// The other process of the two-process tests.
//
//   rpc_peer serve ADDRESS    an EchoService; prints "ready" once it listens, and "blocked" when a
//                             handler has come to BLOCK; runs until it is killed
//   rpc_peer block ADDRESS    calls BLOCK, which nobody ends
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "locket/tests/rpc_testing.h"

namespace locket::tests {
namespace {

int Serve(const std::string& address) {
  EchoService service;
  ServerBuilder builder;
  builder.RegisterService(&service);
  builder.AddListeningPort(address, InsecureServerCredentials());
  const std::unique_ptr<Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  dprintf(STDOUT_FILENO, "ready\n");
  if (service.blocked.WaitFor(1)) dprintf(STDOUT_FILENO, "blocked\n");
  for (;;) pause();
}

int Block(const std::string& address) {
  const auto stub = Echo::NewStub(CreateChannel(address, InsecureChannelCredentials()));
  const Outcome outcome = Call(*stub, MakeRequest(Request::BLOCK));
  return outcome.status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace locket::tests

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc != 3) return 2;
  return std::string(argv[1]) == "serve" ? locket::tests::Serve(argv[2])
                                         : locket::tests::Block(argv[2]);
}
