#include "locket/bench/pair.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "locket/bench/cpu_time.h"
#include "locket/bench/measure.h"

namespace locket::bench {
namespace {

// Bounds on what takes a moment; a machine that is busy with a build must not reach them.
constexpr std::chrono::seconds kStart{30};
constexpr std::chrono::seconds kStop{20};
constexpr std::chrono::seconds kMeasurementExtra{60};

constexpr char kIdle[] = "idle";

struct Pair {
  std::unique_ptr<ChildProcess> server;
  std::unique_ptr<ChildProcess> client;

  absl::Status Finish() {
    absl::Status client_end = client->Finish(In(kStop));
    absl::Status server_end = server->Finish(In(kStop));
    return client_end.ok() ? server_end : client_end;
  }
};

// A server that is ready, and a client that has been started.
absl::StatusOr<Pair> StartPair(ChildRole role, ChildRole::Role client_role,
                               std::optional<CpuPair> cpus) {
  const int memory = memfd_create("locket-bench", MFD_CLOEXEC);
  if (memory < 0) return absl::ErrnoToStatus(errno, "memfd_create");
  absl::Cleanup close_memory = [memory] { close(memory); };
  role.mutable_setup()->set_memory_fd(memory);

  Pair pair;
  role.set_role(ChildRole::SERVER);
  if (cpus.has_value()) role.set_cpu(cpus->server);
  absl::StatusOr<std::unique_ptr<ChildProcess>> server = ChildProcess::Start(role);
  if (!server.ok()) return server.status();
  pair.server = *std::move(server);
  if (auto ready = pair.server->ReadLine(In(kStart)); !ready.ok()) return ready.status();

  role.set_role(client_role);
  if (cpus.has_value()) role.set_cpu(cpus->client);
  absl::StatusOr<std::unique_ptr<ChildProcess>> client = ChildProcess::Start(role);
  if (!client.ok()) return client.status();
  pair.client = *std::move(client);
  return pair;
}

absl::StatusOr<Measurement> MeasureVariant(const ChildRole& role, std::optional<CpuPair> cpus) {
  absl::StatusOr<Pair> pair = StartPair(role, ChildRole::CLIENT, cpus);
  if (!pair.ok()) return pair.status();
  const auto time = std::chrono::ceil<std::chrono::milliseconds>(
      std::chrono::nanoseconds(role.plan().warmup_ns() + role.plan().max_ns()) + kMeasurementExtra);
  absl::StatusOr<std::string> line = pair->client->ReadLine(In(time), pair->server.get());
  if (!line.ok()) return line.status();
  Measurement measurement;
  if (!google::protobuf::TextFormat::ParseFromString(*line, &measurement)) {
    return absl::InternalError(absl::StrCat("the client of ", role.system(), " said: ", *line));
  }
  if (absl::Status end = pair->Finish(); !end.ok()) return end;
  return measurement;
}

absl::Status Serve(const ChildRole& role, const System& system, ParentLink& parent) {
  absl::Status status = system.Serve(role.setup(), parent);
  // The parent takes the end of a server that it has not asked to stop for a failure.
  if (status.ok()) parent.WaitForStop();
  return status;
}

absl::Status MeasureAsClient(const ChildRole& role, const System& system, ParentLink& parent) {
  absl::StatusOr<std::unique_ptr<Client>> client = system.Connect(role.setup());
  if (!client.ok()) return client.status();
  absl::StatusOr<Measurement> measurement = (*client)->Measure(role.plan());
  if (!measurement.ok()) return measurement.status();
  std::string line;
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.PrintToString(*measurement, &line);
  parent.SendLine(line);
  return absl::OkStatus();
}

absl::Status IdleAsClient(const ChildRole& role, const System& system, ParentLink& parent) {
  absl::StatusOr<std::unique_ptr<Client>> client = system.Connect(role.setup());
  if (!client.ok()) return client.status();
  if (absl::Status call = (*client)->Call(); !call.ok()) return call;
  parent.SendLine(kIdle);
  parent.WaitForStop();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SocketFolder> SocketFolder::Create() {
  // A socket's path has 107 bytes.
  constexpr size_t kLongest = 60;
  const char* const tmpdir = getenv("TMPDIR");
  std::string path = tmpdir != nullptr ? tmpdir : "";
  if (path.empty() || path.front() != '/' || path.size() > kLongest) path = "/tmp";
  absl::StrAppend(&path, "/locket-bench-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) return absl::ErrnoToStatus(errno, "mkdtemp " + path);
  return SocketFolder(std::move(path));
}

SocketFolder::SocketFolder(std::string path) : path_(std::move(path)) {}

SocketFolder::SocketFolder(SocketFolder&& other) noexcept
    : path_(std::exchange(other.path_, "")), given_(other.given_) {}

SocketFolder::~SocketFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string SocketFolder::NextPath() { return absl::StrCat(path_, "/", ++given_); }

absl::StatusOr<Measurement> MeasurePair(const System& system, const Setup& setup, const Plan& plan,
                                        std::optional<CpuPair> cpus, SocketFolder& sockets) {
  std::optional<Measurement> best;
  for (const std::string& variant : system.variants()) {
    ChildRole role;
    role.set_system(system.name());
    *role.mutable_setup() = setup;
    role.mutable_setup()->set_variant(variant);
    role.mutable_setup()->set_socket_path(sockets.NextPath());
    *role.mutable_plan() = plan;
    if (!plan.dump_path().empty()) {
      absl::StrAppend(role.mutable_plan()->mutable_dump_path(), ".", system.name());
    }
    absl::StatusOr<Measurement> measurement = MeasureVariant(role, cpus);
    if (!measurement.ok()) return measurement.status();
    if (!best.has_value() || measurement->p50_us() < best->p50_us()) best = *measurement;
  }
  return *best;
}

absl::StatusOr<double> MeasureIdle(const System& system, std::chrono::milliseconds silence,
                                   std::optional<CpuPair> cpus, SocketFolder& sockets) {
  ChildRole role;
  role.set_system(system.name());
  role.mutable_setup()->mutable_shape()->set_request_bytes(4);
  role.mutable_setup()->mutable_shape()->set_reply_bytes(4);
  role.mutable_setup()->set_socket_path(sockets.NextPath());
  absl::StatusOr<Pair> pair = StartPair(role, ChildRole::IDLE_CLIENT, cpus);
  if (!pair.ok()) return pair.status();
  if (auto idle = pair->client->ReadLine(In(kStart), pair->server.get()); !idle.ok()) {
    return idle.status();
  }

  const ChildProcess* const both[] = {pair->server.get(), pair->client.get()};
  CpuTime before[2];
  const int64_t started = NowNs();
  for (int i = 0; i < 2; ++i) {
    absl::StatusOr<CpuTime> time = ReadCpuTime(both[i]->pid());
    if (!time.ok()) return time.status();
    before[i] = *std::move(time);
  }
  // Nobody says anything, unless it dies.
  absl::StatusOr<std::string> line = pair->client->ReadLine(In(silence), pair->server.get());
  if (line.ok()) return absl::InternalError("the idle client said: " + *line);
  if (!absl::IsDeadlineExceeded(line.status())) return line.status();
  int64_t used_ns = 0;
  for (int i = 0; i < 2; ++i) {
    absl::StatusOr<CpuTime> time = ReadCpuTime(both[i]->pid());
    if (!time.ok()) return time.status();
    used_ns += CpuTimeBetween(before[i], *time);
  }
  const int64_t elapsed_ns = NowNs() - started;
  if (absl::Status end = pair->Finish(); !end.ok()) return end;
  return 100.0 * static_cast<double>(used_ns) / static_cast<double>(elapsed_ns);
}

int RunChild(const ChildRole& role, const System& system) {
  ParentLink parent(role);
  absl::Status status;
  if (role.has_cpu()) status = PinTo(role.cpu());
  if (status.ok()) {
    switch (role.role()) {
      case ChildRole::SERVER:
        status = Serve(role, system, parent);
        break;
      case ChildRole::CLIENT:
        status = MeasureAsClient(role, system, parent);
        break;
      case ChildRole::IDLE_CLIENT:
        status = IdleAsClient(role, system, parent);
        break;
      default:
        status = absl::InvalidArgumentError("a child without a role");
    }
  }
  if (status.ok()) return 0;
  parent.SendError(status);
  return 1;
}

}  // namespace locket::bench
