// A user's program: server and client in one process, as C++17 without exceptions and RTTI.

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "locket/locket.h"
#include "weather/weather.locket.h"

#if __cplusplus != 201703L
#error "C++17 was to be tested"
#endif
#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "no exceptions and no RTTI were to be tested"
#endif

namespace {

class WeatherService final : public outside::weather::Weather::Service {
  locket::Status Now(locket::ServerContext* /*context*/, const outside::weather::Place* place,
                     outside::weather::Report* report) override {
    report->set_text("Rain in " + place->name());
    return locket::Status::OK;
  }
};

}  // namespace

int main() {
  const std::string target = "unix-abstract:locket-outside-" + std::to_string(getpid());
  WeatherService service;
  locket::ServerBuilder builder;
  builder.AddListeningPort(target, locket::InsecureServerCredentials());
  builder.RegisterService(&service);
  const std::unique_ptr<locket::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::fprintf(stderr, "cannot listen on %s\n", target.c_str());
    return 1;
  }

  const auto stub = outside::weather::Weather::NewStub(
      locket::CreateChannel(target, locket::InsecureChannelCredentials()));
  locket::ClientContext context;
  outside::weather::Place place;
  place.set_name("Bergen");
  outside::weather::Report report;
  const locket::Status status = stub->Now(&context, place, &report);
  std::printf("%d %s%s\n", static_cast<int>(status.error_code()), status.error_message().c_str(),
              report.text().c_str());
  return status.ok() ? 0 : 1;
}
