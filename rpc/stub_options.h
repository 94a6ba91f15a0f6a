#ifndef LOCKET_RPC_STUB_OPTIONS_H_
#define LOCKET_RPC_STUB_OPTIONS_H_

namespace locket {

// Options of a stub, given to NewStub(). None has a meaning yet.
class StubOptions {
 public:
  StubOptions() = default;
  // gRPC: a suffix for names in statistics, which Locket does not keep. Not stored.
  explicit StubOptions(const char* /*suffix_for_stats*/) {}
};

}  // namespace locket

#endif  // LOCKET_RPC_STUB_OPTIONS_H_
