// Locks under which no thread waits forever.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <shared_mutex>

namespace recmigrate {

// A reader-writer lock that lets a waiting writer in: with glibc's default, continuously overlapping readers starve it.
// Satisfies the requirements of std::shared_lock and std::unique_lock. A thread must not take it twice, not even for
// reading.
class SharedMutex {
 public:
  SharedMutex() noexcept {
    pthread_rwlockattr_t kind;
    pthread_rwlockattr_init(&kind);
#if defined(__GLIBC__)
    pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
    pthread_rwlock_init(&lock_, &kind);
    pthread_rwlockattr_destroy(&kind);
  }
  ~SharedMutex() { pthread_rwlock_destroy(&lock_); }
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void lock() noexcept { pthread_rwlock_wrlock(&lock_); }
  void unlock() noexcept { pthread_rwlock_unlock(&lock_); }
  void lock_shared() noexcept { pthread_rwlock_rdlock(&lock_); }
  void unlock_shared() noexcept { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_;
};

// A lock that is granted in the order of requests; a thread that takes a std::mutex again and again keeps others out.
// Satisfies the requirements of std::lock_guard and std::unique_lock.
class FairMutex {
 public:
  FairMutex() = default;
  FairMutex(const FairMutex&) = delete;
  FairMutex& operator=(const FairMutex&) = delete;

  void lock() {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::uint64_t number = asked_++;
    turn_.wait(lock, [&] { return number == served_; });
  }
  bool try_lock() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (asked_ != served_) return false;
    ++asked_;
    return true;
  }
  void unlock() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++served_;
    }
    turn_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable turn_;
  std::uint64_t asked_ = 0;
  std::uint64_t served_ = 0;
};

using Maintenance = std::lock_guard<FairMutex>;
using ReadLock = std::shared_lock<SharedMutex>;
using WriteLock = std::unique_lock<SharedMutex>;

}  // namespace recmigrate
