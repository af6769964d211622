#include "ops/notices.h"

#include <mutex>
#include <string>

#include "store/notices.h"

namespace recmigrate::ops {
namespace {

using Listener = void (*)(const char*);

struct Ear {
  std::recursive_mutex mutex;  // recursive, because the listener may run an op that has notices as well
  Listener listener = nullptr;
};

// Never destroyed: ops may run after static destruction.
Ear& ear() {
  static auto* const instance = new Ear;
  return *instance;
}

}  // namespace

void deliver_notices() noexcept {
  if (!notices::any()) return;
  try {
    const std::lock_guard<std::recursive_mutex> lock(ear().mutex);
    if (ear().listener == nullptr) return;  // kept for a later listener
    for (const std::string& text : notices::take()) ear().listener(text.c_str());
  } catch (...) {  // out of memory
  }
}

}  // namespace recmigrate::ops

// Makes `listener` receive each notice, a sentence in UTF-8, on the thread of the op that caused it; null ends that,
// and when this returns the former listener is no longer being called.
extern "C" __attribute__((visibility("default"))) void recmigrate_listen(void (*listener)(const char*)) {
  const std::lock_guard<std::recursive_mutex> lock(recmigrate::ops::ear().mutex);
  recmigrate::ops::ear().listener = listener;
}
