#include "store/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace recmigrate::parallel {
namespace {

// One call of `run`; lives on its caller's stack and is linked into the pool's queue.
struct Job {
  Job(std::size_t tasks, Task body) noexcept : task(body), count(tasks) {}

  void work() noexcept {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        task(i);
      } catch (...) {
        std::call_once(failed, [this] { failure = std::current_exception(); });
      }
    }
  }

  const Task task;
  const std::size_t count;
  std::atomic<std::size_t> next{0};
  std::once_flag failed;
  std::exception_ptr failure;
  Job* behind = nullptr;  // guarded by the pool's mutex, like the next
  bool queued = false;
  std::atomic<std::size_t> helpers{0};  // threads of the pool that may still touch this job; the last touch is its end
};

// How often a thread polls for work, or for its end, before it sleeps: some tens of microseconds. Calls within an op
// follow each other closely, and waking a thread takes as long as the work.
constexpr int kSpins = 2000;

inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Threads sleep until a job is queued. The caller always works on its own job, so no job waits for a free thread.
class Pool {
 public:
  explicit Pool(std::size_t threads) : owner(getpid()), threads_(threads) {
    try {
      helpers_.reserve(threads);
      for (std::size_t i = 1; i < threads; ++i) {
        std::thread helper([this] { serve(); });
        helpers_.push_back({helper.native_handle(), -1});
        helper.detach();
      }
    } catch (const std::system_error&) {
      // No more threads can be created: those that started, or the callers alone, do the work.
    }
  }

  [[nodiscard]] std::size_t threads() const noexcept { return threads_; }

  void run(Job& job) noexcept {
    std::unique_lock<std::mutex> lock(mutex_);
    append(job);
    make_way();
    lock.unlock();
    for (std::size_t i = 1; i < std::min(threads_, job.count); ++i) wake_.notify_one();
    job.work();
    lock.lock();
    remove(job);
    lock.unlock();
    for (int i = 0; i < kSpins && job.helpers != 0; ++i) relax();
    if (job.helpers == 0) return;
    lock.lock();
    done_.wait(lock, [&job] { return job.helpers == 0; });
  }

  const pid_t owner;
  Pool* older = nullptr;  // the previously created pool; constant once others can see this one

 private:
  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      if (first_ == nullptr) {
        lock.unlock();
        for (int i = 0; i < kSpins && !work_queued_; ++i) relax();
        lock.lock();
      }
      wake_.wait(lock, [this] { return first_ != nullptr; });
      Job& job = *first_;
      ++job.helpers;
      lock.unlock();
      job.work();
      lock.lock();
      // All its tasks are taken, so no one else needs to look at it.
      remove(job);
      if (--job.helpers == 0) done_.notify_all();
    }
  }

  // Keeps the helpers off the caller's processor. Linux was observed to wake a thread that had slept for a millisecond
  // there, behind the caller and next to an idle processor, so that the caller did all the work alone.
  void make_way() noexcept {
#if defined(__linux__)
    const int cpu = sched_getcpu();
    if (cpu < 0 || helpers_.size() > kMostPlaced) return;
    for (Helper& helper : helpers_) {
      if (helper.avoids == cpu || pthread_equal(helper.thread, pthread_self()) != 0) continue;
      cpu_set_t allowed;  // the caller's affinity, so that processors that the user excluded stay excluded
      if (pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed) != 0) return;
      CPU_CLR(static_cast<std::size_t>(cpu), &allowed);
      if (CPU_COUNT(&allowed) == 0) return;
      if (pthread_setaffinity_np(helper.thread, sizeof allowed, &allowed) == 0) helper.avoids = cpu;
    }
#endif
  }

  void append(Job& job) noexcept {
    Job** end = &first_;
    while (*end != nullptr) end = &(*end)->behind;
    *end = &job;
    job.queued = true;
    work_queued_ = true;
  }

  void remove(Job& job) noexcept {
    if (!job.queued) return;
    Job** link = &first_;
    while (*link != &job) link = &(*link)->behind;
    *link = job.behind;
    job.queued = false;
    work_queued_ = first_ != nullptr;
  }

  struct Helper {
    pthread_t thread;
    int avoids;  // a processor
  };
  // With more threads there are more processors, and setting the affinity of all would take longer than it saves.
  static constexpr std::size_t kMostPlaced = 8;

  const std::size_t threads_;
  std::mutex mutex_;
  std::vector<Helper> helpers_;
  std::condition_variable wake_;
  std::condition_variable done_;
  Job* first_ = nullptr;
  std::atomic<bool> work_queued_{false};  // first_ is not null, to be read without the lock
};

std::size_t configured_threads() noexcept {
  const char* text = std::getenv("RECMIGRATE_NUM_THREADS");
  const long wanted = text != nullptr ? std::strtol(text, nullptr, 10) : 0;
  const std::size_t found = wanted > 0 ? static_cast<std::size_t>(wanted) : std::thread::hardware_concurrency();
  return std::clamp<std::size_t>(found, 1, kMostThreads);
}

std::atomic<Pool*> current{nullptr};
std::atomic<Pool*> newest{nullptr};

// The pool with this many threads, created if this process has none; null if there is not enough memory. Pools are
// never deleted, because their threads may outlive every static object, so they are reused. A forked child inherits the
// pointers but no thread, so the pools of another process do not count.
Pool* pool_of(std::size_t threads) noexcept {
  Pool* head = newest.load(std::memory_order_acquire);
  for (Pool* one = head; one != nullptr; one = one->older) {
    if (one->owner == getpid() && one->threads() == threads) return one;
  }
  auto* const fresh = new (std::nothrow) Pool(threads);
  if (fresh == nullptr) return nullptr;
  do {
    fresh->older = head;
  } while (!newest.compare_exchange_weak(head, fresh, std::memory_order_acq_rel));
  return fresh;
}

Pool* pool() noexcept {
  Pool* found = current.load(std::memory_order_acquire);
  while (found == nullptr || found->owner != getpid()) {
    Pool* const fresh = pool_of(found == nullptr ? configured_threads() : found->threads());
    if (fresh == nullptr || current.compare_exchange_strong(found, fresh)) return fresh;
  }
  return found;
}

}  // namespace

std::size_t thread_count() noexcept {
  const Pool* const shared = pool();
  return shared != nullptr ? shared->threads() : 1;
}

void set_thread_count(std::size_t threads) {
  threads = std::clamp<std::size_t>(threads, 1, kMostThreads);
  // Frequent, and cheaper than to ask for the process: in another one, `pool` makes a pool of as many threads.
  const Pool* const now = current.load(std::memory_order_acquire);
  if (now != nullptr && now->threads() == threads) return;
  Pool* const wanted = pool_of(threads);
  if (wanted == nullptr) throw std::bad_alloc();
  current.store(wanted);
}

void run(std::size_t count, Task task) {
  Job job(count, task);
  Pool* const shared = count > 1 ? pool() : nullptr;
  if (shared != nullptr && shared->threads() > 1) {
    shared->run(job);
  } else {
    job.work();
  }
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace recmigrate::parallel
