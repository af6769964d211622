#include "store/parallel.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace recmigrate::parallel {
namespace {

struct Job {
  const std::function<void(std::size_t)>& task;
  std::size_t count;
  std::atomic<std::size_t> next{0};
  std::size_t helpers = 0;  // threads inside, guarded by the pool's mutex
  std::exception_ptr failure{};
  std::once_flag failed{};

  void work() noexcept {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        task(i);
      } catch (...) {
        std::call_once(failed, [this] { failure = std::current_exception(); });
      }
    }
  }
};

// Threads sleep until a job is queued. The caller always works on its own job, so no job waits for a free thread.
class Pool {
 public:
  explicit Pool(std::size_t threads) : owner(getpid()), threads_(threads) {
    for (std::size_t i = 1; i < threads; ++i) std::thread([this] { serve(); }).detach();
  }

  [[nodiscard]] std::size_t threads() const noexcept { return threads_; }

  void run(Job& job) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      jobs_.push_back(&job);
    }
    for (std::size_t i = 1; i < std::min(threads_, job.count); ++i) wake_.notify_one();
    job.work();
    std::unique_lock<std::mutex> lock(mutex_);
    const auto queued = std::find(jobs_.begin(), jobs_.end(), &job);
    if (queued != jobs_.end()) jobs_.erase(queued);
    done_.wait(lock, [&job] { return job.helpers == 0; });
  }

  const pid_t owner;

 private:
  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return !jobs_.empty(); });
      Job* job = jobs_.front();
      ++job->helpers;
      lock.unlock();
      job->work();
      lock.lock();
      // All its tasks are taken: nobody else needs to look at it.
      if (!jobs_.empty() && jobs_.front() == job) jobs_.pop_front();
      if (--job->helpers == 0) done_.notify_all();
    }
  }

  std::size_t threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::deque<Job*> jobs_;
};

std::size_t configured_threads() {
  const char* text = std::getenv("RECMIGRATE_NUM_THREADS");
  const long wanted = text != nullptr ? std::strtol(text, nullptr, 10) : 0;
  const std::size_t found = wanted > 0 ? static_cast<std::size_t>(wanted) : std::thread::hardware_concurrency();
  return std::clamp<std::size_t>(found, 1, 256);
}

std::atomic<Pool*> current{nullptr};

// A forked child inherits the pointer but none of the threads: it makes a pool of its own. Pools are never deleted, since
// their threads may outlive every static object.
Pool& pool() {
  Pool* found = current.load(std::memory_order_acquire);
  while (found == nullptr || found->owner != getpid()) {
    auto fresh = std::make_unique<Pool>(found == nullptr ? configured_threads() : found->threads());
    if (current.compare_exchange_strong(found, fresh.get())) found = fresh.get();
    static_cast<void>(fresh.release());
  }
  return *found;
}

}  // namespace

std::size_t thread_count() { return pool().threads(); }

void set_thread_count(std::size_t threads) { current.store(new Pool(std::max<std::size_t>(threads, 1))); }

void run(std::size_t count, const std::function<void(std::size_t)>& task) {
  Job job{task, count};
  if (count > 1 && pool().threads() > 1) {
    pool().run(job);
  } else {
    job.work();
  }
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace recmigrate::parallel
