#include "store/notices.h"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>

namespace recmigrate::notices {
namespace {

// More than anyone reads; limits their number if no one fetches them.
constexpr std::size_t kMost = 256;

struct Posted {
  std::mutex mutex;  // held while posting or fetching; no other lock is taken meanwhile
  std::vector<std::string> texts;
  std::atomic<bool> any{false};
};

// Never destroyed: tables may be used after static destruction.
Posted& posted() {
  static auto* const instance = new Posted;
  return *instance;
}

}  // namespace

void post(std::string text) noexcept {
  try {
    Posted& all = posted();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (all.texts.size() == kMost) all.texts.erase(all.texts.begin());
    all.texts.push_back(std::move(text));
    all.any = true;
  } catch (...) {  // out of memory; the operation itself continues
  }
}

bool any() noexcept { return posted().any.load(std::memory_order_relaxed); }

std::vector<std::string> take() {
  Posted& all = posted();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.any = false;
  return std::exchange(all.texts, {});
}

}  // namespace recmigrate::notices
