// The parts of the kernel that not every kernel has, in one place that tests override.
#ifndef LOCKET_TRANSPORT_INTERNAL_KERNEL_FEATURES_H_
#define LOCKET_TRANSPORT_INTERNAL_KERNEL_FEATURES_H_

namespace locket::transport::internal {

// True: tried, and found out at the call whether this kernel (or its seccomp filter) has it. False:
// not tried, as on a kernel that refuses it, so that the path of each older kernel runs on a new
// one. The number is the Linux that brought it; Debian 12 has 6.1.
struct KernelFeatures {
  bool memfd = true;              // memfd_create (3.17): else records cross the socket.
  bool sealing = true;            // F_ADD_SEALS (3.17; F_SEAL_FUTURE_WRITE 5.1): likewise.
  bool scm_rights = true;         // SCM_RIGHTS: likewise.
  bool memfd_noexec_seal = true;  // MFD_NOEXEC_SEAL (6.3): else the memory might be executed.
  bool futex_waitv = true;        // futex_waitv (5.16): else FutexWakeLocal() repeats itself.
  bool nowait_read = true;        // preadv2(RWF_NOWAIT) of an eventfd (5.8): else a plain read.
  bool pidfd = true;              // pidfd_open (5.3), P_PIDFD (5.4): else the end of file alone.
  bool so_peerpidfd = true;       // SO_PEERPIDFD (6.5): else the pidfd that the client sent.
  bool so_passrights = true;      // SO_PASSRIGHTS (6.16): else strangers' descriptors reach us.
};

// What Debian 12's kernel has, and the oldest one on which records cross shared memory.
inline constexpr KernelFeatures kLinux6_1 = {
    .memfd_noexec_seal = false, .so_peerpidfd = false, .so_passrights = false};
inline constexpr KernelFeatures kLinux5_1 = {.memfd_noexec_seal = false,
                                             .futex_waitv = false,
                                             .nowait_read = false,
                                             .pidfd = false,
                                             .so_peerpidfd = false,
                                             .so_passrights = false};

// What this process uses. Any thread.
const KernelFeatures& UsedKernelFeatures();

// For tests: the process uses `features` for as long as this object lives. Objects are destroyed in
// the reverse order of their making, after everything that might still look at the features.
class ScopedKernelFeatures {
 public:
  explicit ScopedKernelFeatures(const KernelFeatures& features);
  ~ScopedKernelFeatures();
  ScopedKernelFeatures(const ScopedKernelFeatures&) = delete;
  ScopedKernelFeatures& operator=(const ScopedKernelFeatures&) = delete;

 private:
  const KernelFeatures features_;
  const KernelFeatures* const before_;
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_KERNEL_FEATURES_H_
