// The other process of the two-process tests.
//
//   rpc_peer serve ADDRESS    an EchoService; prints "ready" once it listens, and "blocked" when a
//                             handler has come to BLOCK; ends when its input does
//   rpc_peer block ADDRESS    calls BLOCK, which nobody ends
#include <stdio.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

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
  std::thread teller([&] {
    if (service.blocked.WaitFor(1)) dprintf(STDOUT_FILENO, "blocked\n");
  });
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  service.blocked.Add();
  service.gate.Add();
  teller.join();
  return 0;
}

int Block(const std::string& address) {
  const auto stub = Echo::NewStub(CreateChannel(address, InsecureChannelCredentials()));
  const Outcome outcome = Call(*stub, MakeRequest(Request::BLOCK));
  return outcome.status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace locket::tests

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return std::string(argv[1]) == "serve" ? locket::tests::Serve(argv[2])
                                         : locket::tests::Block(argv[2]);
}
