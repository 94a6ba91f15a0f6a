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

// The messages of a unary call, of types that only generated code knows. Used again for later
// calls.
class UnaryMessages {
 public:
  UnaryMessages();
  virtual ~UnaryMessages();
  virtual google::protobuf::MessageLite* request() = 0;
  virtual google::protobuf::MessageLite* response() = 0;
};

// A registered method: the seam between generated code and the library, which does everything else.
// Thread-safe.
class UnaryHandler {
 public:
  UnaryHandler();
  virtual ~UnaryHandler();
  virtual std::unique_ptr<UnaryMessages> NewMessages() = 0;
  // `messages` are NewMessages() of this handler.
  virtual Status Run(ServerContext* context, UnaryMessages* messages) = 0;
};

template <class S, class Req, class Resp>
class UnaryMethodHandler final : public UnaryHandler {
 public:
  using Method = Status (S::*)(ServerContext*, const Req*, Resp*);

  UnaryMethodHandler(S* service, Method method) : service_(service), method_(method) {}

  std::unique_ptr<UnaryMessages> NewMessages() override {
    return std::unique_ptr<UnaryMessages>(new Messages);
  }
  Status Run(ServerContext* context, UnaryMessages* messages) override {
    Messages* const mine = static_cast<Messages*>(messages);
    return (service_->*method_)(context, &mine->request_, &mine->response_);
  }

 private:
  struct Messages final : UnaryMessages {
    google::protobuf::MessageLite* request() override { return &request_; }
    google::protobuf::MessageLite* response() override { return &response_; }
    Req request_;
    Resp response_;
  };

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
