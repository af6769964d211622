// The growing hash index of one shard: int64 key -> slot. All 2^64 keys can be stored and deleted again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "store/rows/lines.h"

namespace recmigrate {

// Number of ids handled together: their lines, then their rows, are prefetched before the first of them is read.
inline constexpr std::size_t kBlock = 32;

// An index grows without a pause: keys move to more lines in the order of their hashes, some with each reservation.
// Until all have moved there are two arrays, and the hash says which of them has a key. Not thread-safe.
class Index {
 public:
  // `phase` in [0, 1) shifts the sizes at which the index grows, so that shards of equal size do not all grow at once.
  explicit Index(double phase = 0);

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // Without the array from which keys still move: it is gone soon.
  [[nodiscard]] std::size_t bytes() const noexcept { return newest().count() * sizeof(Line); }

  // The value of `bytes` after reserve(rows).
  [[nodiscard]] std::size_t bytes_for(std::size_t rows) const noexcept {
    return static_cast<std::size_t>(scale_for(rows)) * sizeof(Line);
  }

  // Reserves space for `rows` keys in total. If it throws std::bad_alloc, no key is lost and the space is as before.
  void reserve(std::size_t rows);

  // Adds a key that is not present, in space from `reserve`. `hash` is hash_key(key), here and below.
  void insert(std::uint64_t hash, std::int64_t key, Slot slot) noexcept {
    arrays_[has_moved(hash)].insert(hash, key, slot);
    ++size_;
  }

  // Deletes a key; returns its slot, or kAbsent if it was not present.
  Slot erase(std::uint64_t hash, std::int64_t key) noexcept {
    const Slot slot = arrays_[has_moved(hash)].erase(hash, key);
    size_ -= slot == kAbsent ? 0 : 1;
    return slot;
  }

  [[nodiscard]] Slot find(std::uint64_t hash, std::int64_t key) const noexcept { return find_from(home(hash), key); }

  // The same in two steps: the place to prefetch, then the search from there.
  [[nodiscard]] const Line* prefetch(std::uint64_t hash) const noexcept {
    const Line* const at = home(hash);
    __builtin_prefetch(at);
    return at;
  }
  [[nodiscard]] Slot find_from(const Line* at, std::int64_t key) const noexcept {
    for (;;) {
      const unsigned found = at->match(key);
      if (found != 0) return at->slots[__builtin_ctz(found)];
      if (at->is_last()) return kAbsent;
      at = after(at);
    }
  }

  // Calls visit(key, slot) for every key, roughly in the order of the hashes.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    arrays_[1].for_each_from(0, visit);
    arrays_[0].for_each_from(moved_, visit);
  }

 private:
  [[nodiscard]] const Lines& newest() const noexcept { return arrays_[1].count() != 0 ? arrays_[1] : arrays_[0]; }
  [[nodiscard]] double scale_for(std::size_t rows) const noexcept;
  // Moves the keys of at least `lines` further lines, if there are as many.
  void move(std::size_t lines) noexcept;

  // Whether a key with this hash is in the second array. A number, not a branch, which would be mispredicted.
  [[nodiscard]] std::size_t has_moved(std::uint64_t hash) const noexcept { return (hash & 0xffffffffU) < border_; }
  [[nodiscard]] const Line* home(std::uint64_t hash) const noexcept {
    const Lines& lines = arrays_[has_moved(hash)];
    return lines.begin() + lines.home(hash);
  }
  // The next line of the same array.
  [[nodiscard]] const Line* after(const Line* at) const noexcept {
    ++at;
    if (at == arrays_[0].end()) return arrays_[0].begin();
    return at == arrays_[1].end() ? arrays_[1].begin() : at;
  }

  std::uint64_t border_ = 0;  // keys with lower 32 bits of the hash before it are in the second array
  Lines arrays_[2];           // the second is empty unless keys move to it from the first
  std::size_t moved_ = 0;     // lines of the first array whose keys have moved
  std::size_t size_ = 0;
  double scale_;  // lines of the newest array, before they are rounded down
};

}  // namespace recmigrate
