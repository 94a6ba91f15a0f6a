#include "locket/transport/internal/kernel_features.h"

#include <atomic>

namespace locket::transport::internal {
namespace {

constexpr KernelFeatures kAll;

constinit std::atomic<const KernelFeatures*> used{&kAll};

}  // namespace

// Acquire: pairs with the release of the scope that made the features.
const KernelFeatures& UsedKernelFeatures() { return *used.load(std::memory_order_acquire); }

ScopedKernelFeatures::ScopedKernelFeatures(const KernelFeatures& features)
    : features_(features), before_(used.exchange(&features_, std::memory_order_acq_rel)) {}

ScopedKernelFeatures::~ScopedKernelFeatures() { used.store(before_, std::memory_order_release); }

}  // namespace locket::transport::internal
