// How a channel notices that it is used in a forked child.
#ifndef LOCKET_RPC_INTERNAL_FORK_GENERATION_H_
#define LOCKET_RPC_INTERNAL_FORK_GENERATION_H_

#include <cstdint>

namespace locket::internal {

// A number that differs between a process and its forked children, for the price of a load:
// getpid() would be a system call in each call. (A child made by a bare clone() goes unnoticed.)
uint64_t ForkGeneration();

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_FORK_GENERATION_H_
