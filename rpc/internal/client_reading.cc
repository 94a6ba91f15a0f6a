// The reading role: who reads the connection, and where each record goes.
#include <utility>

#include "absl/strings/str_cat.h"
#include "locket/rpc/internal/call_tie.h"
#include "locket/rpc/internal/client_connection.h"

namespace locket::internal {

using transport::Deadline;
using transport::MutexLock;
using transport::ReadResult;
using transport::WaitResult;

namespace {

// Up to here a copy costs less than letting go of the lock and taking it again.
constexpr size_t kCopiedUnderLock = 4096;

// How often a reader tries again to send what is owed, where the other ring is full.
constexpr int64_t kFlushEveryNanos = 1'000'000;

// Records that a sender files before it looks at its own deadline again.
constexpr int kFiledByASender = 64;

}  // namespace

bool ClientConnection::Await(ClientCall& call, Operation operation, Deadline deadline) {
  MutexLock lock(mutex_);
  AwaitLocked(call, operation, deadline, /*in_time=*/true);
  return !call.ended();
}

bool ClientConnection::AwaitEnd(ClientCall& call, ClientContext& context, Deadline deadline) {
  bool in_time = true;
  if (!call.leads) {
    mutex_.Lock();
  } else {
    call.leads = false;
    const uint32_t seen = connection_->interrupts();  // Keeps (3): before the check.
    if (!call.GaveUp()) {
      in_time = Lead(call, Operation::kReceiveStatus, deadline, seen);
    } else {
      mutex_.Lock();
      reading_ = false;
    }
  }
  AwaitLocked(call, Operation::kReceiveStatus, deadline, in_time);
  if (PeerMayAnswer(call) || !CallTie::TryUntie(context, call)) {
    mutex_.Unlock();
    return false;
  }
  call.owned = false;
  FreeSlot(call);
  UnlockAndDrop();
  return true;
}

// `in_time`: the deadline had not passed before.
void ClientConnection::AwaitLocked(ClientCall& call, Operation operation, Deadline deadline,
                                   bool in_time) {
  while (call.pending(operation)) {
    const uint32_t seen = connection_->interrupts();  // Keeps (3): before the check.
    if (call.cancel_requested()) {
      call.End(Cancelled());
    } else if (!in_time) {
      call.End(DeadlineExceeded());
    } else if (reading_) {
      in_time = Follow(call, deadline);
    } else {
      reading_ = true;
      mutex_.Unlock();
      in_time = Lead(call, operation, deadline, seen);
    }
  }
  HandOn();
}

// Keeps (1).
void ClientConnection::HandOn() {
  if (!reading_ && !sleepers_.empty()) sleepers_.first()->wake.NotifyOne();
}

// Sleeps until the call moves on, or the role may be free. False if the deadline passed.
bool ClientConnection::Follow(ClientCall& call, Deadline deadline) {
  sleepers_.PushBack(call);
  call.asleep = true;
  const bool in_time = call.wake.WaitUntil(mutex_, deadline);
  call.asleep = false;
  sleepers_.Remove(call);
  return in_time;
}

// Has the role, and reads until `operation` of `call` is done, or the wait has to look up; gives
// the role up. False if the deadline passed. Begins without the lock, and ends with it.
bool ClientConnection::Lead(ClientCall& call, Operation operation, Deadline deadline,
                            uint32_t seen) {
  bool in_time = true;
  bool look_up = false;
  while (true) {
    Incoming incoming;
    ReadResult result = Receive(&incoming);
    while (result == ReadResult::kEmpty && !look_up) {
      Deadline until = deadline;
      if (sender_.owes()) {
        sender_.FlushOwed();
        if (sender_.owes()) until = Earlier(deadline, Deadline::AfterNanos(kFlushEveryNanos));
      }
      const WaitResult wait = connection_->WaitReadable(until, seen);
      in_time = wait != WaitResult::kDeadline || !deadline.passed();
      look_up = !in_time || wait == WaitResult::kInterrupted;
      // Ready or closed: what was committed before the end is still to be read.
      if (!look_up) result = Receive(&incoming);
    }
    mutex_.Lock();
    if (result == ReadResult::kRecord) {
      File(incoming);
      connection_->Release();
      // A stream of others' records must not carry the reader past its own deadline.
      if (call.pending(operation) && deadline.passed()) in_time = false;
    } else if (result == ReadResult::kEnd) {
      EndAllCalls();
    }
    if (look_up || !in_time || !call.pending(operation) || call.cancel_requested()) break;
    mutex_.Unlock();
  }
  reading_ = false;
  return in_time;
}

void ClientConnection::GiveUpRole(ClientCall& call) {
  if (!call.leads) return;
  call.leads = false;
  MutexLock lock(mutex_);
  reading_ = false;
  HandOn();
}

void ClientConnection::ReadWithoutWaiting() {
  MutexLock lock(mutex_);
  if (reading_ || ended_) return;
  reading_ = true;
  ReadResult result = ReadResult::kRecord;
  for (int i = 0; i < kFiledByASender && result == ReadResult::kRecord; ++i) {
    mutex_.Unlock();
    Incoming incoming;
    result = Receive(&incoming);
    mutex_.Lock();
    if (result == ReadResult::kRecord) {
      File(incoming);
      connection_->Release();
    } else if (result == ReadResult::kEnd) {
      EndAllCalls();
    }
  }
  reading_ = false;
  HandOn();
}

ReadResult ClientConnection::Receive(Incoming* incoming) {
  const ReadResult result = connection_->TryReceive(&incoming->record);
  if (result == ReadResult::kRecord) {
    incoming->decoded = DecodeFrame(incoming->record.data, incoming->record.size, &incoming->frame,
                                    &incoming->violation);
  }
  return result;
}

void ClientConnection::File(const Incoming& incoming) {
  if (incoming.decoded == Decoded::kViolation) return Violation(incoming.violation);
  if (incoming.decoded == Decoded::kSkip) return;
  const Frame& frame = incoming.frame;
  if (frame.type == FrameType::kGoAway) {
    going_away_.store(true, std::memory_order_relaxed);  // See usable().
    return;
  }
  if (frame.type == FrameType::kStart || frame.type == FrameType::kCancel) {
    return Violation("a frame that only clients send");
  }
  // A call that has its FINISH is its owner's alone, who may be parsing the response just now; so
  // is one that was not sent, whose owner leaves when it likes.
  if (frame.call_id >= slots_.size() || slots_[frame.call_id] == nullptr ||
      slots_[frame.call_id]->finish_received ||
      !slots_[frame.call_id]->start_sent.load(std::memory_order_acquire)) {
    return Violation(absl::StrCat("a frame for call ", frame.call_id, ", which is not in use"));
  }
  ClientCall& call = *slots_[frame.call_id];
  if (frame.type == FrameType::kFinish) {
    FileFinish(call, frame);
  } else {
    FileMessage(call, frame);
  }
}

void ClientConnection::FileMessage(ClientCall& call, const Frame& frame) {
  if (frame.type == FrameType::kMessage) {
    if (!call.BeginMessage(frame.message_size)) {
      return Violation(absl::StrCat("a message within another one in call ", call.id));
    }
    CheckNoOtherMessage(call);
  } else if (frame.message.size > call.open_bytes()) {
    return Violation(absl::StrCat("more bytes than announced in call ", call.id));
  }
  TakeMessage(call, frame);
}

// More than one message in a unary call: too many for the caller, who gets an error.
void ClientConnection::CheckNoOtherMessage(ClientCall& call) {
  if (!call.first_message()) {
    call.End(NoResponse(absl::StrCat("call ", call.id, " got more than one message")));
  }
}

// Appends what this frame brings to the call's message, or drops it if nobody wants it. May let go
// of the lock; the slot stays, since only the reader frees a slot that the peer may use.
void ClientConnection::TakeMessage(ClientCall& call, const Frame& frame) {
  if (frame.type != FrameType::kContinue && call.keeps_message() &&
      int64_t{frame.message_size} > limits_.receive) {
    call.End(MessageTooLarge("Received", frame.message_size, limits_.receive));
  }
  bool stored = true;
  if (call.keeps_message()) {
    const size_t whole = call.message.size() + call.open_bytes();
    if (frame.message.size <= kCopiedUnderLock) {
      stored = call.message.Append(frame.message.data, frame.message.size, whole);
    } else {
      call.filling = true;
      mutex_.Unlock();
      stored = call.message.Append(frame.message.data, frame.message.size, whole);
      mutex_.Lock();
      call.filling = false;
      if (!call.owned) call.message.Clear();
    }
  }
  if (!stored) call.End(NoMemory("a response", frame.message_size));
  call.TookBytes(frame.message.size);
}

void ClientConnection::FileFinish(ClientCall& call, const Frame& frame) {
  if ((frame.flags & kFlagMessage) != 0) {
    if (!call.BeginMessage(frame.message_size)) {
      return Violation(absl::StrCat("a message within another one in call ", call.id));
    }
    CheckNoOtherMessage(call);
    TakeMessage(call, frame);
  }
  call.finish_received = true;
  // It refuses new calls; its GOAWAY may be a moment behind.
  if ((frame.flags & kFlagNotBegun) != 0) going_away_.store(true, std::memory_order_relaxed);
  if (!call.owned) {
    call.message.Clear();
    return FreeSlot(call);
  }
  if (call.ended()) return;
  CallOutcome outcome;
  outcome.not_begun = (frame.flags & kFlagNotBegun) != 0;
  if (frame.code != StatusCode::OK) {
    outcome.status =
        Status(static_cast<StatusCode>(frame.code),
               std::string(reinterpret_cast<const char*>(frame.text.data), frame.text.size),
               std::string(reinterpret_cast<const char*>(frame.details.data), frame.details.size));
  }
  call.End(std::move(outcome));
}

// The peer does not keep to the protocol. The next read finds the end of the connection, which ends
// every call in flight.
void ClientConnection::Violation(const std::string& what) {
  connection_->Close(absl::InternalError(absl::StrCat("the server ", peer_, " sent ", what)));
}

}  // namespace locket::internal
