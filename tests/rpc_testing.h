// What the RPC tests share: a server whose handlers do as they are told, and ways to wait for
// things.
#ifndef LOCKET_TESTS_RPC_TESTING_H_
#define LOCKET_TESTS_RPC_TESTING_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "locket/locket.h"
#include "locket/transport/mutex.h"
#include "tests/echo.locket.h"

namespace locket::tests {

// Nothing takes that long; a test that waits so long has failed.
inline constexpr std::chrono::seconds kPatience(10);

inline std::chrono::steady_clock::time_point InTime() {
  return std::chrono::steady_clock::now() + kPatience;
}

// A number that threads change and wait for.
class Counter {
 public:
  void Add(int by = 1);
  int value();
  // False if it does not come to be at least `value` in time.
  [[nodiscard]] bool WaitFor(int value);

 private:
  transport::Mutex mutex_;
  transport::CondVar changed_;
  int value_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The handlers of echo.proto.
class EchoService : public Echo::Service {
 public:
  Status Call(ServerContext* context, const Request* request, Response* response) override;

  Counter blocked;    // Handlers that have come to BLOCK.
  Counter gate;       // BLOCK returns OK once this is 1.
  Counter cancelled;  // BLOCK that returned because it was cancelled.
  Counter returned;   // Handlers that have returned.

 private:
  Status Block(ServerContext* context, Response* response);
  Status Do(ServerContext* context, const Request& request, Response* response);
};

// An address that no other test uses.
std::string UniqueAddress();

// A running EchoService.
class EchoServer {
 public:
  EchoServer() : EchoServer([](ServerBuilder&) {}) {}
  template <typename Configure>
  explicit EchoServer(const Configure& configure) {
    ServerBuilder builder;
    builder.RegisterService(&service_);
    builder.AddListeningPort(address_, InsecureServerCredentials());
    configure(builder);
    server_ = builder.BuildAndStart();
  }

  const std::string& address() const { return address_; }
  Server& server() { return *server_; }
  EchoService& service() { return service_; }
  // Restarts at the same address.
  void Stop() { server_ = nullptr; }

  // A stub on a channel of its own.
  std::unique_ptr<Echo::Stub> NewStub() const;

 private:
  const std::string address_ = UniqueAddress();
  EchoService service_;
  std::unique_ptr<Server> server_;
};

// One call with a context and a deadline of its own, and what came of it.
struct Outcome {
  Status status;
  Response response;
  std::string debug;
};
Outcome Call(Echo::StubInterface& stub, const Request& request);
Outcome CallEcho(Echo::StubInterface& stub, const std::string& payload);

Request MakeRequest(Request::Action action);

// Bytes that show where they have been cut or mixed up.
std::string Pattern(size_t size, unsigned seed);

}  // namespace locket::tests

#endif  // LOCKET_TESTS_RPC_TESTING_H_
