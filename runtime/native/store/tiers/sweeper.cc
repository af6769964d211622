#include "store/tiers/sweeper.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace recmigrate::sweeper {
namespace {

constexpr unsigned kMostThreads = 64;

struct Queue {
  std::mutex mutex;
  std::condition_variable asked;
  std::condition_variable done;
  std::deque<Tended*> waiting;
  std::vector<Tended*> tended;  // now
  unsigned started = 0;
};

// Never destroyed: its threads outlive static objects.
Queue& queue(Work work) {
  static auto* const instances = new Queue[3];
  return instances[static_cast<unsigned>(work)];
}

bool has(const std::vector<Tended*>& all, const Tended* one) noexcept {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// A thread does not take an object that another one maintains.
std::deque<Tended*>::iterator next(Queue& all) noexcept {
  return std::find_if(all.waiting.begin(), all.waiting.end(), [&](Tended* one) { return !has(all.tended, one); });
}

void tend_all(Queue& all) {
  std::unique_lock<std::mutex> lock(all.mutex);
  for (;;) {
    all.asked.wait(lock, [&] { return next(all) != all.waiting.end(); });
    Tended* const one = *next(all);
    all.waiting.erase(next(all));
    all.tended.push_back(one);
    lock.unlock();
    one->tend();
    lock.lock();
    all.tended.erase(std::find(all.tended.begin(), all.tended.end(), one));
    all.done.notify_all();
    all.asked.notify_one();  // it may have been scheduled again meanwhile
  }
}

// Number of threads in an environment variable; 1 if it is not set.
unsigned number(const char* variable) noexcept {
  const char* const text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return 1U;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end != '\0' || value < 0 ? 1U : static_cast<unsigned>(std::min<long>(value, kMostThreads));
}

}  // namespace

unsigned threads(Work work) noexcept {
  static const bool compacts = [] {
    const char* const text = std::getenv("TF_SSDHASH_ASYNC_COMPACTION");
    return text != nullptr && std::string(text) == "1";
  }();
  static const unsigned trims = number("TF_MULTI_TIER_EV_EVICTION_THREADS");
  static const unsigned prefetches = number("RECMIGRATE_PREFETCH_THREADS");
  if (work == Work::compact) return compacts ? 1 : 0;
  return work == Work::trim ? trims : prefetches;
}

void ask(Tended& one, Work work) {
  Queue& all = queue(work);
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (std::find(all.waiting.begin(), all.waiting.end(), &one) != all.waiting.end()) return;
  all.tended.reserve(threads(work));
  for (; all.started < threads(work); ++all.started) std::thread([&all] { tend_all(all); }).detach();
  all.waiting.push_back(&one);
  all.asked.notify_one();
}

void forget(Tended& one, Work work) noexcept {
  Queue& all = queue(work);
  std::unique_lock<std::mutex> lock(all.mutex);
  all.waiting.erase(std::remove(all.waiting.begin(), all.waiting.end(), &one), all.waiting.end());
  all.done.wait(lock, [&] { return !has(all.tended, &one); });
}

}  // namespace recmigrate::sweeper
