// The base of generated services.
#ifndef LOCKET_RPC_SERVICE_H_
#define LOCKET_RPC_SERVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "google/protobuf/message_lite.h"
#include "locket/rpc/server_context.h"
#include "locket/rpc/status.h"

namespace locket {

class Service;

namespace internal {

class ServerCall;

// What a unary handler does with its call: the seam between generated code, which knows the types
// of the messages, and the library, which does everything else.
class UnaryExchange {
 public:
  ServerContext* context() const { return context_; }

  // Parses the request. False if it is missing or is no such message: the handler is not to run.
  bool ReceiveRequest(google::protobuf::MessageLite* request);

  // Answers with `status`, and with `response` if that is OK. Once, at most.
  void Finish(const Status& status, const google::protobuf::MessageLite& response);

 private:
  friend class ServerCall;
  UnaryExchange(ServerCall* call, ServerContext* context) : call_(call), context_(context) {}

  ServerCall* const call_;
  ServerContext* const context_;
};

// A registered method.
class UnaryHandler {
 public:
  UnaryHandler();
  virtual ~UnaryHandler();
  virtual void Run(UnaryExchange* exchange) = 0;
};

template <class S, class Req, class Resp>
class UnaryMethodHandler final : public UnaryHandler {
 public:
  using Method = Status (S::*)(ServerContext*, const Req*, Resp*);

  UnaryMethodHandler(S* service, Method method) : service_(service), method_(method) {}

  void Run(UnaryExchange* exchange) override {
    Req request;
    if (!exchange->ReceiveRequest(&request)) return;
    Resp response;
    const Status status = (service_->*method_)(exchange->context(), &request, &response);
    exchange->Finish(status, response);
  }

 private:
  S* const service_;
  const Method method_;
};

void AddUnaryHandler(Service* service, const char* path, std::unique_ptr<UnaryHandler> handler);

// Registers a unary method of a generated service under "/package.Service/Method". For generated
// constructors.
template <class S, class Req, class Resp>
void AddUnaryMethod(S* service, const char* path,
                    Status (S::*method)(ServerContext*, const Req*, Resp*)) {
  AddUnaryHandler(
      service, path,
      std::unique_ptr<UnaryHandler>(new UnaryMethodHandler<S, Req, Resp>(service, method)));
}

class ServiceMethods;

}  // namespace internal

// A set of methods, to be given to ServerBuilder::RegisterService(). It outlives the server.
//
// Thread safety: the server calls handlers from many threads at once; everything else happens
// before it starts.
class Service {
 public:
  Service();
  virtual ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

 private:
  friend class internal::ServiceMethods;

  struct Method {
    std::string path;
    std::unique_ptr<internal::UnaryHandler> handler;
  };
  std::vector<Method> methods_;
};

}  // namespace locket

#endif  // LOCKET_RPC_SERVICE_H_
