#include "store/notices.h"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>

namespace recmigrate::notices {
namespace {

// More than anybody reads, where nobody takes them.
constexpr std::size_t kMost = 256;

struct Posted {
  std::mutex mutex;  // of one who posts or takes; nothing else is locked meanwhile
  std::vector<std::string> texts;
  std::atomic<bool> any{false};
};

// Never destroyed: tables may be used after static objects are.
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
  } catch (...) {  // there is no memory for it; what it is about is done all the same
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
