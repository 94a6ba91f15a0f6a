// What Locket has to say where no Status can carry it: why a start was refused, why a connection
// was dropped.
#ifndef LOCKET_TRANSPORT_LOG_H_
#define LOCKET_TRANSPORT_LOG_H_

#include <functional>
#include <string_view>

namespace locket {

enum class LogSeverity { kInfo, kWarning, kError };

// Called from any thread, also several at once; must not call Locket. `message` is valid during the
// call and has no newline at its end.
using LogSink = std::function<void(LogSeverity severity, std::string_view message)>;

// Sends what Locket logs to `sink` from now on; an empty one restores the default, which writes
// warnings and errors to stderr, a line each. Thread-safe: a sink that another thread is just
// calling lives until that call returns.
void SetLogSink(LogSink sink);

// Logs `message`. For the floors of Locket.
void Log(LogSeverity severity, std::string_view message);

}  // namespace locket

#endif  // LOCKET_TRANSPORT_LOG_H_
