// Serves helloworld.Greeter until SIGTERM or SIGINT.

#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "examples/helloworld/helloworld.locket.h"
#include "locket/examples/helloworld/default_target.h"
#include "locket/locket.h"

ABSL_FLAG(std::string, target, helloworld::DefaultTarget(),
          "where to listen: unix:PATH, unix:///PATH or unix-abstract:NAME");

namespace {

class GreeterService final : public helloworld::Greeter::Service {
  locket::Status SayHello(locket::ServerContext* /*context*/,
                          const helloworld::HelloRequest* request,
                          helloworld::HelloReply* reply) override {
    reply->set_message("Hello " + request->name());
    return locket::Status::OK;
  }
};

int Serve(const std::string& target) {
  // Blocked before the server starts threads, which inherit this: only sigwait() takes them.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  GreeterService service;
  const std::unique_ptr<locket::Server> server =
      locket::ServerBuilder{}
          .AddListeningPort(target, locket::InsecureServerCredentials())
          .RegisterService(&service)
          .BuildAndStart();
  if (server == nullptr) {
    std::fprintf(stderr, "greeter_server: cannot listen on %s\n", target.c_str());
    return 1;
  }
  std::printf("Listening on %s\n", target.c_str());
  std::fflush(stdout);

  std::thread on_signal([&] {
    int signal = 0;
    sigwait(&ends, &signal);
    server->Shutdown();
  });
  server->Wait();
  on_signal.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Serves helloworld.Greeter until SIGTERM or SIGINT.");
  absl::ParseCommandLine(argc, argv);
  return Serve(absl::GetFlag(FLAGS_target));
}
