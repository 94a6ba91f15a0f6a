// What tests of connections share: to send and receive one record, waiting for it.
#ifndef LOCKET_TRANSPORT_CONNECTION_TESTING_H_
#define LOCKET_TRANSPORT_CONNECTION_TESTING_H_

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <string>
#include <string_view>

#include "locket/transport/connection.h"
#include "locket/transport/deadline.h"

namespace locket::transport {

// Nothing takes that long; a test that waits so long has failed.
inline constexpr auto kSoon = std::chrono::seconds(10);

// False once nothing can be written any more; a wait that ends by its deadline fails the test.
inline bool Send(Connection& connection, std::string_view bytes) {
  for (;;) {
    const uint32_t interrupts = connection.interrupts();
    if (uint8_t* room = connection.TryReserve(bytes.size())) {
      memcpy(room, bytes.data(), bytes.size());
      connection.Commit(bytes.size());
      return true;
    }
    const WaitResult waited =
        connection.WaitWritable(bytes.size(), Deadline::After(kSoon), interrupts);
    EXPECT_NE(waited, WaitResult::kDeadline);
    if (waited != WaitResult::kReady) return false;
  }
}

// The bytes of a received record, which is released.
inline std::string Take(Connection& connection, const Record& record) {
  std::string bytes(reinterpret_cast<const char*>(record.data), record.size);
  connection.Release();
  return bytes;
}

// The next record of an end that is in no WaitSet, or why there is none.
inline std::string Receive(Connection& connection) {
  for (;;) {
    const uint32_t interrupts = connection.interrupts();
    Record record;
    switch (connection.TryReceive(&record)) {
      case ReadResult::kRecord:
        return Take(connection, record);
      case ReadResult::kEnd:
        return "<end>";
      case ReadResult::kEmpty:
        break;
    }
    if (connection.WaitReadable(Deadline::After(kSoon), interrupts) == WaitResult::kDeadline) {
      return "<late>";
    }
  }
}

}  // namespace locket::transport

#endif  // LOCKET_TRANSPORT_CONNECTION_TESTING_H_
