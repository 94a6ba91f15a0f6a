// How a call ended.
#ifndef LOCKET_RPC_STATUS_H_
#define LOCKET_RPC_STATUS_H_

#include <memory>
#include <string>

namespace locket {

// gRPC's codes and numbers. Unscoped, as gRPC's: both locket::OK and locket::StatusCode::OK. A
// Status may hold any other int too, and it travels as it is; hence the fixed type.
enum StatusCode : int {
  OK = 0,
  CANCELLED = 1,
  UNKNOWN = 2,
  INVALID_ARGUMENT = 3,
  DEADLINE_EXCEEDED = 4,
  NOT_FOUND = 5,
  ALREADY_EXISTS = 6,
  PERMISSION_DENIED = 7,
  RESOURCE_EXHAUSTED = 8,
  FAILED_PRECONDITION = 9,
  ABORTED = 10,
  OUT_OF_RANGE = 11,
  UNIMPLEMENTED = 12,
  INTERNAL = 13,
  UNAVAILABLE = 14,
  DATA_LOSS = 15,
  UNAUTHENTICATED = 16,
  DO_NOT_USE = -1  // Keeps switches over the codes open.
};

// A code, a text for people, and details for programs: any bytes, by convention a serialised
// google.rpc.Status. A value type; the texts of an OK status do not travel.
//
// A status without texts allocates nothing: the OK of each good call is two words.
class Status {
 public:
  Status() noexcept : code_(StatusCode::OK) {}
  Status(StatusCode code, const std::string& error_message)
      : Status(code, error_message, std::string()) {}
  Status(StatusCode code, const std::string& error_message, const std::string& error_details);

  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&& other) noexcept = default;
  Status& operator=(Status&& other) noexcept = default;
  ~Status() = default;

  // Without a text. Initialised before any code runs, and never destroyed.
  static const Status& OK;
  static const Status& CANCELLED;

  StatusCode error_code() const { return code_; }
  std::string error_message() const { return texts_ ? texts_->message : std::string(); }
  std::string error_details() const { return texts_ ? texts_->details : std::string(); }
  bool ok() const { return code_ == StatusCode::OK; }

  // Says that not looking at this status is meant.
  void IgnoreError() const {}

 private:
  struct Texts {
    std::string message;
    std::string details;
  };
  struct Immortal;

  StatusCode code_;
  std::unique_ptr<const Texts> texts_;  // Null where both are empty.
};

}  // namespace locket

#endif  // LOCKET_RPC_STATUS_H_
