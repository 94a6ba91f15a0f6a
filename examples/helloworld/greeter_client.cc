// Calls helloworld.Greeter and prints the greeting; see the flags for what else it can do.

#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "examples/helloworld/helloworld.locket.h"
#include "locket/examples/helloworld/default_target.h"
#include "locket/examples/helloworld/median.h"
#include "locket/examples/helloworld/plain_socket.h"
#include "locket/locket.h"

ABSL_FLAG(std::string, target, helloworld::DefaultTarget(),
          "the server: unix:PATH, unix:///PATH or unix-abstract:NAME");
ABSL_FLAG(std::string, name, "world", "whom to greet");
ABSL_FLAG(int32_t, calls, 0, "measure this many calls, and as many round trips of a plain socket");
ABSL_FLAG(
    int32_t, kill_server, 0,
    "the server's process id: kill it with SIGKILL between two calls or during one, and print "
    "how soon a call failed");

namespace {

using Clock = std::chrono::steady_clock;
using helloworld::Greeter;

class GreeterClient {
 public:
  explicit GreeterClient(const std::string& target)
      : stub_(
            Greeter::NewStub(locket::CreateChannel(target, locket::InsecureChannelCredentials()))) {
  }

  locket::Status SayHello(const helloworld::HelloRequest& request, helloworld::HelloReply* reply) {
    locket::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    return stub_->SayHello(&context, request, reply);
  }

 private:
  const std::unique_ptr<Greeter::Stub> stub_;
};

int Fail(const std::string& what) {
  absl::FPrintF(stderr, "greeter_client: %s\n", what);
  return 1;
}

int Fail(const char* what, const locket::Status& status) {
  return Fail(absl::StrFormat("%s: status %d: %s", what, static_cast<int>(status.error_code()),
                              status.error_message()));
}

// The plain socket goes second, so that it finds the processor as warm as the calls left it.
int Measure(GreeterClient& client, const helloworld::HelloRequest& request, int calls) {
  helloworld::HelloReply reply;
  std::vector<std::chrono::nanoseconds> times;
  times.reserve(static_cast<size_t>(calls));
  const int warm_up = calls / 10;
  for (int i = -warm_up; i < calls; ++i) {
    const auto start = Clock::now();
    const locket::Status status = client.SayHello(request, &reply);
    if (!status.ok()) return Fail("SayHello", status);
    if (i >= 0) times.push_back(Clock::now() - start);
  }
  const size_t request_size = request.ByteSizeLong();
  const size_t reply_size = reply.ByteSizeLong();
  const absl::StatusOr<double> plain =
      helloworld::PlainSocketRoundTripMicros(request_size, reply_size, calls);
  if (!plain.ok()) return Fail(plain.status().ToString());
  absl::PrintF(
      "p50 of %d calls, %d B there and %d B back, two processes:\n"
      "  Locket call                  %8.2f us\n"
      "  plain Unix socket, no RPC    %8.2f us\n",
      calls, request_size, reply_size, helloworld::MedianMicros(std::move(times)), *plain);
  return 0;
}

int KillServer(GreeterClient& client, const helloworld::HelloRequest& request, pid_t server) {
  std::atomic<int> kill_error = 0;  // The killer's.
  Clock::time_point killed;         // The killer's, until it is joined.
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // The calls are under way by then.
    killed = Clock::now();
    if (kill(server, SIGKILL) < 0) kill_error = errno;
  });
  helloworld::HelloReply reply;
  locket::Status status;
  while (status.ok() && kill_error == 0) status = client.SayHello(request, &reply);
  const auto knew = Clock::now();
  killer.join();
  if (kill_error != 0) {
    return Fail(absl::StrFormat("kill(%d): %s", server, std::strerror(kill_error)));
  }
  if (status.error_code() != locket::StatusCode::UNAVAILABLE) {
    return Fail("UNAVAILABLE was expected of a killed server", status);
  }
  absl::PrintF("The client knew %.2f ms after the server's SIGKILL: UNAVAILABLE: %s\n",
               std::chrono::duration<double, std::milli>(knew - killed).count(),
               status.error_message());
  return 0;
}

int Run() {
  GreeterClient client(absl::GetFlag(FLAGS_target));
  helloworld::HelloRequest request;
  request.set_name(absl::GetFlag(FLAGS_name));

  helloworld::HelloReply reply;
  const locket::Status status = client.SayHello(request, &reply);
  if (!status.ok()) return Fail("SayHello", status);
  absl::PrintF("%s\n", reply.message());

  if (const int calls = absl::GetFlag(FLAGS_calls); calls > 0) {
    if (const int failed = Measure(client, request, calls); failed != 0) return failed;
  }
  if (const int server = absl::GetFlag(FLAGS_kill_server); server > 0) {
    return KillServer(client, request, server);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Calls helloworld.Greeter and prints the greeting.");
  absl::ParseCommandLine(argc, argv);
  return Run();
}
