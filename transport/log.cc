#include "locket/transport/log.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "locket/transport/mutex.h"

namespace locket {
namespace {

struct Sink {
  transport::Mutex mutex;
  std::shared_ptr<const LogSink> sink ABSL_GUARDED_BY(mutex);
};

// Leaked on purpose: threads may log while the process exits.
Sink& CurrentSink() {
  static Sink* const sink = new Sink;
  return *sink;
}

void WriteToStderr(LogSeverity severity, std::string_view message) {
  if (severity == LogSeverity::kInfo) return;
  std::string line = severity == LogSeverity::kError ? "locket: error: " : "locket: warning: ";
  line += message;
  line += '\n';
  fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void SetLogSink(LogSink sink) {
  auto shared = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
  Sink& current = CurrentSink();
  {
    transport::MutexLock lock(current.mutex);
    current.sink.swap(shared);
  }
  // The old sink is destroyed here, out of the lock, or by a thread that is just calling it.
}

void Log(LogSeverity severity, std::string_view message) {
  std::shared_ptr<const LogSink> sink;
  {
    Sink& current = CurrentSink();
    transport::MutexLock lock(current.mutex);
    sink = current.sink;
  }
  if (sink != nullptr) {
    (*sink)(severity, message);
  } else {
    WriteToStderr(severity, message);
  }
}

}  // namespace locket
