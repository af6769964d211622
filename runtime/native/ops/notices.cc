#include "ops/notices.h"

#include <mutex>
#include <string>

#include "store/notices.h"

namespace recmigrate::ops {
namespace {

using Listener = void (*)(const char*);

struct Ear {
  std::recursive_mutex mutex;  // who listens may run an op that has something to say as well
  Listener listener = nullptr;
};

// Never destroyed: ops may run after static objects are.
Ear& ear() {
  static auto* const instance = new Ear;
  return *instance;
}

}  // namespace

void deliver_notices() noexcept {
  if (!notices::any()) return;
  try {
    const std::lock_guard<std::recursive_mutex> lock(ear().mutex);
    if (ear().listener == nullptr) return;  // they are kept for one who comes later
    for (const std::string& text : notices::take()) ear().listener(text.c_str());
  } catch (...) {  // there is no memory for them
  }
}

}  // namespace recmigrate::ops

// Has `listener` told each notice, a sentence in UTF-8, by the thread of the op in which it came up; null ends that,
// and when this returns nobody is being told any more.
extern "C" __attribute__((visibility("default"))) void recmigrate_listen(void (*listener)(const char*)) {
  const std::lock_guard<std::recursive_mutex> lock(recmigrate::ops::ear().mutex);
  recmigrate::ops::ear().listener = listener;
}
