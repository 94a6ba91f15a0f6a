#include "locket/tests/rpc_testing.h"

#include <unistd.h>

#include <stdexcept>
#include <thread>

namespace locket::tests {

using transport::Deadline;
using transport::MutexLock;

void Counter::Add(int by) {
  MutexLock lock(mutex_);
  value_ += by;
  changed_.NotifyAll();
}

int Counter::value() {
  MutexLock lock(mutex_);
  return value_;
}

bool Counter::WaitFor(int value) {
  const Deadline deadline = Deadline::After(kPatience);
  MutexLock lock(mutex_);
  while (value_ < value) {
    if (!changed_.WaitUntil(mutex_, deadline)) return value_ >= value;
  }
  return true;
}

Status EchoService::Call(ServerContext* context, const Request* request, Response* response) {
  const Status status = Do(context, *request, response);
  returned.Add();
  return status;
}

Status EchoService::Do(ServerContext* context, const Request& request, Response* response) {
  switch (request.action()) {
    case Request::FAIL:
      response->set_payload("not to be seen");
      return Status(static_cast<StatusCode>(request.code()), request.text(), request.details());
    case Request::THROW:
      throw std::runtime_error("of a handler");
    case Request::BLOCK:
      return Block(context, response);
    case Request::TRY_CANCEL:
      context->TryCancel();
      response->set_number(context->IsCancelled());
      return Status::OK;
    case Request::GENERATE:
      response->set_payload(Pattern(request.response_size(), 1));
      return Status::OK;
    case Request::DEADLINE: {
      const auto deadline = context->deadline();
      const bool none = deadline == std::chrono::system_clock::time_point::max();
      const auto left = deadline - std::chrono::system_clock::now();
      response->set_number(
          none ? -1 : std::chrono::duration_cast<std::chrono::milliseconds>(left).count());
      return Status::OK;
    }
    case Request::PEER:
      response->set_payload(context->peer());
      return Status::OK;
    case Request::ECHO:
    default:
      response->set_payload(request.payload());
      return Status::OK;
  }
}

// IsCancelled() can only be polled; the gate's own wait would not see it.
Status EchoService::Block(ServerContext* context, Response* response) {
  blocked.Add();
  const Deadline deadline = Deadline::After(kPatience);
  while (gate.value() == 0) {
    if (context->IsCancelled()) {
      cancelled.Add();
      return Status::CANCELLED;
    }
    if (deadline.passed()) return Status(StatusCode::INTERNAL, "nobody opened the gate");
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  response->set_payload("gate");
  return Status::OK;
}

std::string UniqueAddress() {
  static std::atomic<int> count{0};
  return "unix-abstract:locket-rpc-test-" + std::to_string(getpid()) + "-" +
         std::to_string(count.fetch_add(1));
}

std::unique_ptr<Echo::Stub> EchoServer::NewStub() const {
  return Echo::NewStub(CreateChannel(address_, InsecureChannelCredentials()));
}

Outcome Call(Echo::StubInterface& stub, const Request& request) {
  Outcome outcome;
  ClientContext context;
  context.set_deadline(InTime());
  outcome.status = stub.Call(&context, request, &outcome.response);
  outcome.debug = context.debug_error_string();
  return outcome;
}

Outcome CallEcho(Echo::StubInterface& stub, const std::string& payload) {
  Request request;
  request.set_payload(payload);
  return Call(stub, request);
}

Request MakeRequest(Request::Action action) {
  Request request;
  request.set_action(action);
  return request;
}

std::string Pattern(size_t size, unsigned seed) {
  std::string bytes(size, '\0');
  uint32_t state = seed * 2654435761u + 1;
  for (char& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

}  // namespace locket::tests
