// Locks some shards of a table while their rows are read or written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "store/hash.h"
#include "store/locks.h"
#include "store/lookup/batch.h"
#include "store/rows/state.h"

namespace recmigrate {

// The parts of some keys, as a bit set.
[[nodiscard]] std::uint64_t shards_of(const std::int64_t* keys, std::size_t count) noexcept;

// Locks the shards of some parts, in the order of their numbers, as every caller that locks several must.
template <typename Lock>
class ShardsGuard {
 public:
  // The parts whose bit is set.
  ShardsGuard(const State& state, std::uint64_t parts) noexcept : state_(state), shards_(state.shards_of_parts(parts)) {
    // Taking a lock waits for its cache line, and no other line is fetched meanwhile.
    for_each([](Shard& shard) { __builtin_prefetch(&shard.mutex, 1); });
    for_each([](Shard& shard) { take(shard.mutex); });
  }
  ~ShardsGuard() {
    for_each([](Shard& shard) { release(shard.mutex); });
  }
  ShardsGuard(const ShardsGuard&) = delete;
  ShardsGuard& operator=(const ShardsGuard&) = delete;

  // Calls body(shard) for each shard.
  template <typename Body>
  void for_each(const Body& body) const {
    for (std::uint64_t rest = shards_; rest != 0; rest &= rest - 1) {
      body(*state_.shards[static_cast<std::size_t>(__builtin_ctzll(rest))]);
    }
  }

 private:
  static constexpr bool kShared = std::is_same_v<Lock, ReadLock>;
  static void take(SharedMutex& mutex) noexcept { kShared ? mutex.lock_shared() : mutex.lock(); }
  static void release(SharedMutex& mutex) noexcept { kShared ? mutex.unlock_shared() : mutex.unlock(); }

  const State& state_;
  const std::uint64_t shards_;
};

using ReadGuard = ShardsGuard<ReadLock>;
using WriteGuard = ShardsGuard<WriteLock>;

}  // namespace recmigrate
