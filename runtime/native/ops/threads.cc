#include "ops/threads.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>

#include "ops/kernel.h"
#include "ops/shapes.h"
#include "store/parallel.h"

namespace recmigrate::ops {
namespace {

constexpr std::uint64_t kIntraOpField = 2;  // in ConfigProto

struct DeleteBuffer {
  void operator()(TF_Buffer* buffer) const noexcept { TF_DeleteBuffer(buffer); }
};

// A varint of the protocol-buffer format; `at` moves behind it, or to `end` if it is truncated.
std::uint64_t varint(const unsigned char*& at, const unsigned char* end) noexcept {
  std::uint64_t value = 0;
  for (unsigned shift = 0; at != end && shift < 64; shift += 7) {
    const unsigned char byte = *at++;
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) break;
  }
  return value;
}

void thread_count(TF_OpKernelContext* context) {
  const TensorPtr output = allocate_output(context, 0, TF_INT64, sizeof(std::int64_t), {});
  *writable<std::int64_t>(output) = static_cast<std::int64_t>(parallel::thread_count());
}

}  // namespace

int intra_op_threads(const unsigned char* config, std::size_t bytes) noexcept {
  const unsigned char* const end = config + bytes;
  for (const unsigned char* at = config; at != end;) {
    const std::uint64_t tag = varint(at, end);
    std::uint64_t skipped = 0;
    switch (tag & 7) {
      case 0: {
        const std::uint64_t value = varint(at, end);
        if (tag >> 3 == kIntraOpField) return static_cast<int>(value);
        break;
      }
      case 1:
        skipped = 8;
        break;
      case 2:
        skipped = varint(at, end);
        break;
      case 5:
        skipped = 4;
        break;
      default:
        return 0;
    }
    at += std::min<std::uint64_t>(skipped, static_cast<std::uint64_t>(end - at));
  }
  return 0;
}

void SessionThreads::follow(TF_OpKernelContext* context) {
  static const bool fixed = std::getenv("RECMIGRATE_NUM_THREADS") != nullptr;
  if (fixed) return;
  int wanted = wanted_.load(std::memory_order_relaxed);
  if (wanted == kUnknown) {
    const std::unique_ptr<TF_Buffer, DeleteBuffer> config(TF_NewBuffer());
    checked([&](TF_Status* status) { TF_GetSerializedConfigProto(context, config.get(), status); });
    wanted = std::max(intra_op_threads(static_cast<const unsigned char*>(config->data), config->length), 0);
    wanted_.store(wanted, std::memory_order_relaxed);
  }
  if (wanted > 0) parallel::set_thread_count(static_cast<std::size_t>(wanted));
}

void register_thread_ops() {
  register_op({"RecThreadCount", {}, {"threads: int64"}, {}, &scalar_shape}, stateless<&thread_count>());
}

}  // namespace recmigrate::ops
