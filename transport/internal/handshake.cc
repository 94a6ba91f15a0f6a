#include "locket/transport/internal/handshake.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "locket/transport/internal/access.h"
#include "locket/transport/internal/close_aside.h"
#include "locket/transport/internal/doorbell.h"
#include "locket/transport/internal/handshake_messages.h"
#include "locket/transport/internal/kernel_features.h"

namespace locket::transport::internal {
namespace {

// A descriptor by which the peer can watch this process; invalid where the kernel refuses one.
UniqueFd OwnPidfd() {
  if (!UsedKernelFeatures().pidfd) return UniqueFd();
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
}

// The pidfd that the peer sent of itself, if it did; `what` is the message. A peer may send any
// descriptor, and epoll must not meet one whose file system could hold it: waitid() looks at the
// descriptor's kind alone. A pidfd of another process than the peer harms the peer alone, whose
// connection then ends with that process.
absl::StatusOr<UniqueFd> TakePidfd(SocketMessage& message, size_t place, const char* what) {
  if (message.descriptors.size() > place + 1) {
    return absl::InternalError(absl::StrCat(what, " has ", message.descriptors.size(),
                                            " descriptors, and not ", place, " or ", place + 1));
  }
  if (message.descriptors.size() <= place || !UsedKernelFeatures().pidfd) return UniqueFd();
  siginfo_t info;
  const int pidfd = message.descriptors[place].get();
  const int waited = waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG | WNOWAIT);
  if (waited == 0 || errno == ECHILD) return std::move(message.descriptors[place]);
  if (errno != EBADF) return UniqueFd();  // This kernel has no P_PIDFD.
  return absl::InternalError(absl::StrCat("the last descriptor of ", what, " is no pidfd"));
}

absl::Status SendWith(int socket, std::string_view bytes, std::initializer_list<int> descriptors) {
  const UniqueFd pidfd = OwnPidfd();
  if (!pidfd.valid()) return SendMessage(socket, bytes, descriptors);
  if (descriptors.size() == 0) {
    absl::Status sent = SendMessage(socket, bytes, {pidfd.get()});
    // A server whose kernel lets it refuse descriptors of strangers has the pidfd from the kernel.
    return absl::IsPermissionDenied(sent) ? SendMessage(socket, bytes) : sent;
  }
  return SendMessage(socket, bytes, {descriptors.begin()[0], descriptors.begin()[1], pidfd.get()});
}

// A Refused message as the error that its sender meant.
absl::Status RefusalOf(std::string_view bytes) {
  absl::StatusOr<Refused> refused = Decode<Refused>(bytes);
  if (!refused.ok()) return refused.status();
  // Of the codes only those that a server refuses with; the text is the server's.
  const auto code = static_cast<absl::StatusCode>(refused->code);
  const bool known =
      code == absl::StatusCode::kPermissionDenied || code == absl::StatusCode::kResourceExhausted;
  return absl::Status(known ? code : absl::StatusCode::kUnavailable,
                      absl::StrCat("the server refused the connection: ",
                                   absl::CHexEscape(std::string(TailOf<Refused>(bytes)))));
}

// The server's next message; its refusal is an error.
absl::StatusOr<SocketMessage> ReceiveAnswer(int socket, Deadline deadline) {
  absl::StatusOr<SocketMessage> message = ReceiveMessage(socket, kMaxMessageSize, deadline);
  if (!message.ok()) return message.status();
  absl::StatusOr<MessageKind> kind = DecodeKind(message->bytes);
  if (!kind.ok()) return kind.status();
  if (*kind == MessageKind::kRefused) return RefusalOf(message->bytes);
  return message;
}

absl::Status CheckWelcome(const Welcome& welcome, const SocketMessage& message) {
  absl::StatusOr<uint16_t> version = ChooseVersion(welcome.version, welcome.version);
  if (!version.ok()) return version.status();
  if (absl::Status known = CheckRequired(welcome.required_features); !known.ok()) return known;
  if (welcome.word_size != kWordSize || welcome.layout_hash != kLayoutHash) {
    return absl::UnavailableError(
        absl::StrFormat("layout %#x with words of %d bytes of the server is not %#x with %d",
                        welcome.layout_hash, welcome.word_size, kLayoutHash, kWordSize));
  }
  if (welcome.carrier != Carrier::kSharedMemory) {
    return absl::UnavailableError(absl::StrCat("the server offers the carrier ",
                                               static_cast<uint32_t>(welcome.carrier),
                                               ", and this build has only shared memory (0)"));
  }
  if (message.descriptors.size() < 2) {
    return absl::InternalError(absl::StrCat("the server's welcome has ", message.descriptors.size(),
                                            " descriptors, and not 2 or 3"));
  }
  if (absl::Status bell = CheckDoorbell(message.descriptors[1].get()); !bell.ok()) return bell;
  const SegmentGeometry geometry{welcome.ring_size, welcome.ring_offset};
  if (welcome.ring_size > kMaxRingSize || welcome.segment_size != geometry.segment_size()) {
    return absl::InternalError(absl::StrCat("the server's segment of ", welcome.segment_size,
                                            " bytes cannot have two rings of ", welcome.ring_size));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status BlockTooLarge(size_t size) {
  return absl::InvalidArgumentError(
      absl::StrCat("an opaque block of ", size, " bytes is over ", kMaxBlockSize));
}

absl::StatusOr<Established> ConnectHandshake(UniqueFd socket, const ConnectOptions& options,
                                             Deadline deadline) {
  // A server that refuses may have sent more than it says.
  const absl::Cleanup failed = [&socket] {
    if (socket.valid()) CloseSocket(std::move(socket));
  };
  const std::string& block = options.block;
  if (block.size() > kMaxBlockSize) return BlockTooLarge(block.size());
  const int fd = socket.get();
  if (absl::Status sent = SendWith(fd, Encode(Hello(), block), {}); !sent.ok()) return sent;

  absl::StatusOr<SocketMessage> message = ReceiveAnswer(fd, deadline);
  if (!message.ok()) return message.status();
  absl::StatusOr<Welcome> welcome = Decode<Welcome>(message->bytes);
  if (!welcome.ok()) return welcome.status();
  if (!message->sender.has_value()) {
    return absl::PermissionDeniedError("the kernel does not say who the server is");
  }
  absl::Status trusted = CheckPeer(*message->sender, {}, options.allowed_servers, "server");
  if (!trusted.ok()) return trusted;
  if (absl::Status checked = CheckWelcome(*welcome, *message); !checked.ok()) return checked;

  Established established;
  established.peer = *message->sender;
  established.peer_block = TailOf<Welcome>(message->bytes);
  absl::StatusOr<UniqueFd> pidfd = TakePidfd(*message, 2, "the server's welcome");
  if (!pidfd.ok()) return pidfd.status();
  established.peer_pidfd = *std::move(pidfd);
  established.doorbell = std::move(message->descriptors[1]);
  absl::StatusOr<std::unique_ptr<Segment>> segment =
      Segment::Map(std::move(message->descriptors[0]), {welcome->ring_size, welcome->ring_offset});
  if (!segment.ok()) return segment.status();
  established.segment = *std::move(segment);

  if (absl::Status sent = SendMessage(fd, Encode(Mapped())); !sent.ok()) return sent;
  absl::StatusOr<SocketMessage> last = ReceiveAnswer(fd, deadline);
  if (!last.ok()) return last.status();
  if (absl::StatusOr<Sealed> sealed = Decode<Sealed>(last->bytes); !sealed.ok()) {
    return sealed.status();
  }
  if (absl::Status sealed = established.segment->CheckSealedForGood(); !sealed.ok()) return sealed;
  established.socket = std::move(socket);
  return established;
}

AcceptHandshake::AcceptHandshake(UniqueFd socket, const ListenOptions& options,
                                 std::shared_ptr<Quota> quota)
    : options_(options),
      quota_(std::move(quota)),
      deadline_(Deadline::After(options.handshake_timeout)),
      trusted_(CheckClient(socket.get(), options.allowed_clients, &established_.peer)) {
  if (trusted_.ok()) AllowDescriptors(socket.get(), true);
  established_.socket = std::move(socket);
  established_.half_close = options.half_close;
}

absl::StatusOr<AcceptHandshake::Progress> AcceptHandshake::Advance() {
  absl::StatusOr<std::optional<SocketMessage>> message =
      TryReceiveMessage(socket(), kMaxMessageSize);
  if (message.ok() && !message->has_value()) return Progress::kMore;
  absl::Status status = message.status();
  if (status.ok()) status = welcomed_ ? OnMapped(**message) : OnHello(**message);
  if (!status.ok()) {
    Refuse(status);
    return status;
  }
  const bool done = welcomed_;
  welcomed_ = true;
  return done ? Progress::kDone : Progress::kMore;
}

// A client that does not take its refusal is dropped all the same.
void AcceptHandshake::Refuse(const absl::Status& why) {
  Refused refused;
  refused.code = static_cast<uint32_t>(why.code());
  SendMessage(socket(), Encode(refused, std::string(why.message()).substr(0, kMaxTailSize)))
      .IgnoreError();
}

absl::Status AcceptHandshake::OnHello(SocketMessage& message) {
  if (!trusted_.ok()) return trusted_;
  absl::StatusOr<Hello> hello = Decode<Hello>(message.bytes);
  if (!hello.ok()) return hello.status();
  absl::StatusOr<uint16_t> version = ChooseVersion(hello->min_version, hello->max_version);
  if (!version.ok()) return version.status();
  if (absl::Status known = CheckRequired(hello->required_features); !known.ok()) return known;
  if (hello->word_size != kWordSize) {
    return absl::UnavailableError(
        absl::StrCat("words of ", hello->word_size, " bytes of the client are not ", kWordSize));
  }
  absl::StatusOr<UniqueFd> pidfd = TakePidfd(message, 0, "the client's hello");
  if (!pidfd.ok()) return pidfd.status();
  // The kernel's word, where it gives one, rather than the client's.
  established_.peer_pidfd = ConnectedPidfd(socket());
  if (!established_.peer_pidfd.valid()) established_.peer_pidfd = *std::move(pidfd);
  established_.peer_block = TailOf<Hello>(message.bytes);
  std::string block;
  if (options_.negotiate) {
    absl::StatusOr<std::string> agreed = options_.negotiate(established_.peer_block);
    if (!agreed.ok()) return agreed.status();
    block = *std::move(agreed);
    if (block.size() > kMaxBlockSize) return BlockTooLarge(block.size());
  }

  absl::StatusOr<Quota::Ticket> ticket = quota_->Take(SegmentSize(options_.ring_size));
  if (!ticket.ok()) return ticket.status();
  established_.ticket = *std::move(ticket);
  absl::StatusOr<std::unique_ptr<Segment>> segment = Segment::Create(options_.ring_size);
  if (!segment.ok()) return segment.status();
  established_.segment = *std::move(segment);
  absl::StatusOr<UniqueFd> doorbell = CreateDoorbell();
  if (!doorbell.ok()) return doorbell.status();
  established_.doorbell = *std::move(doorbell);

  const SegmentGeometry& geometry = established_.segment->geometry();
  Welcome welcome;
  welcome.version = *version;
  welcome.features = hello->features & kKnownFeatures;
  welcome.segment_size = geometry.segment_size();
  welcome.ring_size = geometry.ring_size;
  welcome.ring_offset = geometry.ring_offset;
  return SendWith(socket(), Encode(welcome, block),
                  {established_.segment->descriptor(), established_.doorbell.get()});
}

absl::Status AcceptHandshake::OnMapped(const SocketMessage& message) {
  absl::StatusOr<Mapped> mapped = Decode<Mapped>(message.bytes);
  if (!mapped.ok()) return mapped.status();
  if (mapped->layout_hash != kLayoutHash) {
    return absl::UnavailableError(
        absl::StrFormat("layout %#x of the client is not %#x", mapped->layout_hash, kLayoutHash));
  }
  if (absl::Status sealed = established_.segment->SealForGood(); !sealed.ok()) return sealed;
  return SendMessage(socket(), Encode(Sealed()));
}

}  // namespace locket::transport::internal
