// Counts and times of the keys of one shard that have no row yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace recmigrate {

// A count never wraps: it saturates at the largest number.
[[nodiscard]] inline std::uint32_t add_saturated(std::uint32_t count, std::uint64_t more) noexcept {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(0xffffffffU, std::min<std::uint64_t>(more, 0xffffffffU) + count));
}

struct Sighting {
  std::uint32_t count = 0;
  std::uint32_t last_seen = 0;  // 0: never; a time t is stored as t + 1
};

// Exact counters: 16 bytes a key at a load of at most three quarters. All 2^64 keys can be counted. Not thread-safe.
class Sightings {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return entries_.capacity() * sizeof(Entry); }
  // Number of keys that fit into this many bytes.
  [[nodiscard]] std::size_t most() const noexcept { return 3 * entries_.size() / 4; }

  // The value of `bytes` after reserve(more).
  [[nodiscard]] std::size_t bytes_for(std::size_t more) const noexcept { return places_for(more) * sizeof(Entry); }

  // Reserves space for `more` further keys. If it throws std::bad_alloc, nothing has changed.
  void reserve(std::size_t more);

  // `hash` is hash_key(key), here and below. A key that was not counted has count 0.
  [[nodiscard]] Sighting find(std::uint64_t hash, std::int64_t key) const noexcept;

  // Replaces the data of a key, in space from `reserve`; `seen.count` is at least 1.
  void put(std::uint64_t hash, std::int64_t key, const Sighting& seen) noexcept;

  // Removes a key; returns false if it was not present.
  bool erase(std::uint64_t hash, std::int64_t key) noexcept;

  // Removes the least recently seen keys, so that `more` further keys (or as many as possible) have space, and some
  // more. Among keys with equal times, the smallest is removed first.
  void thin(std::size_t more);

  // Calls visit(key, sighting) for every key, in the order of the hashes' places.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const Entry& entry : entries_) {
      if (entry.seen.count != 0) visit(entry.key, entry.seen);
    }
  }

 private:
  struct Entry {
    std::int64_t key = 0;
    Sighting seen;
  };

  // The upper bits of a hash have selected the shard.
  [[nodiscard]] std::size_t home(std::uint64_t hash) const noexcept {
    return ((hash & 0xffffffffU) * entries_.size()) >> 32;
  }
  [[nodiscard]] std::size_t after(std::size_t at) const noexcept { return at + 1 == entries_.size() ? 0 : at + 1; }
  // Number of entries after reserve(more).
  [[nodiscard]] std::size_t places_for(std::size_t more) const noexcept;
  // The position of the key, or the free position for it; there is at least one free position.
  [[nodiscard]] std::size_t place(std::uint64_t hash, std::int64_t key) const noexcept;

  std::vector<Entry> entries_;
  std::size_t size_ = 0;
};

}  // namespace recmigrate
