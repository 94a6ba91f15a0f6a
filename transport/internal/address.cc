#include "locket/transport/internal/address.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "locket/transport/internal/errno_status.h"

namespace locket::transport::internal {
namespace {

constexpr size_t kMaxName = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::string_view kPortPrefix = "locket-tcp/";

bool ConsumePrefix(std::string_view* text, std::string_view prefix) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

absl::StatusOr<Address> PathAddress(std::string path) {
  if (path.empty()) return absl::InvalidArgumentError("the path of a socket is empty");
  if (path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("the path of a socket has a NUL in it");
  }
  if (path.size() > kMaxName) {
    return absl::InvalidArgumentError(absl::StrCat("the path of a socket has ", path.size(),
                                                   " bytes, more than ", kMaxName, ": ", path));
  }
  return Address{Address::Kind::kPath, std::move(path)};
}

absl::StatusOr<std::string> PercentDecode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size() || !absl::ascii_isxdigit(text[i + 1]) ||
        !absl::ascii_isxdigit(text[i + 2])) {
      return absl::InvalidArgumentError(
          absl::StrCat("a % without two hex digits behind it in ", std::string(text)));
    }
    const std::string digits(text.substr(i + 1, 2));
    decoded += static_cast<char>(strtol(digits.c_str(), nullptr, 16));
    i += 2;
  }
  return decoded;
}

absl::StatusOr<Address> AbstractAddress(std::string_view text) {
  absl::StatusOr<std::string> name = PercentDecode(text);
  if (!name.ok()) return name.status();
  if (name->empty()) return absl::InvalidArgumentError("an abstract name is empty");
  if (name->size() > kMaxName) {
    return absl::InvalidArgumentError(
        absl::StrCat("an abstract name has ", name->size(), " bytes, more than ", kMaxName));
  }
  return Address{Address::Kind::kAbstract, *std::move(name)};
}

absl::StatusOr<Address> RuntimeAddress(std::string_view name, Use use) {
  if (name.empty() || name.find('/') != std::string_view::npos || name[0] == '.') {
    return absl::InvalidArgumentError(
        absl::StrCat("locket:", std::string(name), " is no plain name of a socket"));
  }
  absl::StatusOr<std::string> directory = RuntimeDirectory(use);
  if (!directory.ok()) return directory.status();
  return PathAddress(absl::StrCat(*directory, "/", std::string(name)));
}

bool IsThisHost(std::string_view host) {
  if (host.empty() || host == "localhost" || host == "::" || host == "::1" || host == "0.0.0.0") {
    return true;
  }
  // 127.0.0.0/8, by its spelling.
  return host.substr(0, 4) == "127." &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

// host:port, [host]:port, :port or port.
absl::StatusOr<Address> HostPortAddress(std::string_view text) {
  std::string_view host;
  std::string_view port = text;
  if (ConsumePrefix(&port, "[")) {
    const size_t end = port.find("]:");
    if (end == std::string_view::npos) {
      return absl::InvalidArgumentError(absl::StrCat("no ]: in ", std::string(text)));
    }
    host = port.substr(0, end);
    port.remove_prefix(end + 2);
  } else if (const size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port.remove_prefix(colon + 1);
  }
  uint32_t number = 0;
  if (port.empty() || !std::all_of(port.begin(), port.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(std::string(port), &number) || number > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(text),
                     "\" is no target: unix:path, unix-abstract:name, locket:name or "
                     "localhost:port, a port being 0 to 65535"));
  }
  if (!IsThisHost(host)) {
    return absl::UnavailableError(absl::StrCat(
        std::string(host),
        " is no spelling of this host (localhost, 127.x.x.x, 0.0.0.0, [::] or [::1]): Locket calls "
        "within one host; beyond it, use gRPC"));
  }
  return PortAddress(static_cast<uint16_t>(number));
}

// Checks that the directory is ours alone, and makes it where it is to be listened in.
absl::StatusOr<std::string> PrivateDirectory(std::string path, Use use) {
  if (use == Use::kListen && mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, absl::StrCat("mkdir(", path, ")"));
  }
  struct stat stat;
  if (lstat(path.c_str(), &stat) != 0) return ErrnoStatus(errno, absl::StrCat("lstat(", path, ")"));
  if (!S_ISDIR(stat.st_mode) || stat.st_uid != geteuid() || (stat.st_mode & 077) != 0) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s must be a directory of uid %d with mode 0700, and has uid %d and mode "
                        "%o",
                        path, geteuid(), stat.st_uid, stat.st_mode & 07777));
  }
  return path;
}

}  // namespace

std::string Address::ToString() const {
  switch (kind) {
    case Kind::kPath:
      return absl::StrCat("unix:", name);
    case Kind::kAbstract:
      return absl::StrCat("unix-abstract:", absl::CHexEscape(name));
    case Kind::kPort:
      break;
  }
  return absl::StrCat("localhost:", port);
}

absl::StatusOr<Address> ParseTarget(const std::string& target, Use use) {
  std::string_view text = target;
  if (ConsumePrefix(&text, "unix-abstract:")) return AbstractAddress(text);
  if (ConsumePrefix(&text, "locket:")) return RuntimeAddress(text, use);
  if (ConsumePrefix(&text, "unix:")) {
    // unix:///absolute has an empty authority in front of the path.
    if (text.substr(0, 3) == "///") {
      text.remove_prefix(2);
    } else if (text.substr(0, 2) == "//") {
      return absl::InvalidArgumentError(
          absl::StrCat("write unix:///absolute/path or unix:relative/path, not ", target));
    }
    return PathAddress(std::string(text));
  }
  for (const std::string_view scheme : {"dns:///", "dns:", "ipv4:", "ipv6:"}) {
    if (ConsumePrefix(&text, scheme)) break;
  }
  return HostPortAddress(text);
}

absl::StatusOr<std::string> RuntimeDirectory(Use use) {
  if (const char* own = getenv("LOCKET_RUNTIME_DIR"); own != nullptr && *own != '\0') {
    return PrivateDirectory(own, use);
  }
  if (const char* user = getenv("XDG_RUNTIME_DIR"); user != nullptr && *user != '\0') {
    return PrivateDirectory(absl::StrCat(user, "/locket"), use);
  }
  if (geteuid() == 0) return PrivateDirectory("/run/locket", use);
  return absl::FailedPreconditionError(
      "locket: targets need a directory: set LOCKET_RUNTIME_DIR or XDG_RUNTIME_DIR");
}

SocketAddress ToSocketAddress(const Address& address) {
  SocketAddress result;
  result.address.sun_family = AF_UNIX;
  // An abstract name follows a NUL, and ends with the address's size.
  const size_t start = address.kind == Address::Kind::kPath ? 0 : 1;
  const size_t size = std::min(address.name.size(), kMaxName);
  memcpy(result.address.sun_path + start, address.name.data(), size);
  result.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size + 1);
  return result;
}

Address FromSocketAddress(const SocketAddress& address) {
  constexpr size_t kStart = offsetof(sockaddr_un, sun_path);
  const char* const path = address.address.sun_path;
  if (address.size <= kStart) return Address();
  if (path[0] != '\0') {
    return {Address::Kind::kPath, std::string(path, strnlen(path, address.size - kStart))};
  }
  const std::string name(path + 1, address.size - kStart - 1);
  uint32_t port = 0;
  if (std::string_view digits = name;
      ConsumePrefix(&digits, kPortPrefix) && absl::SimpleAtoi(std::string(digits), &port) &&
      port <= 65535 && PortAddress(static_cast<uint16_t>(port)).name == name) {
    return PortAddress(static_cast<uint16_t>(port));
  }
  return {Address::Kind::kAbstract, name};
}

Address PortAddress(uint16_t port) {
  return Address{Address::Kind::kPort, absl::StrCat(std::string(kPortPrefix), port), port};
}

}  // namespace locket::transport::internal
