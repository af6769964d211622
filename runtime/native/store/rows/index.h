// The growing hash index of one shard: int64 key -> slot. All 2^64 keys can be stored and deleted again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "store/hash.h"
#include "store/rows/memory.h"

namespace recmigrate {

using Slot = std::uint32_t;

inline constexpr Slot kAbsent = 0xffffffffU;

// Number of ids handled together: their lines, then their rows, are prefetched before the first of them is read.
inline constexpr std::size_t kBlock = 32;

// Open addressing over cache lines of five keys with their slots. A key in its home line costs one cache miss, and so
// does an absent one, because a line counts the keys that were placed behind it. Only full lines are passed, also after
// deletions, which move keys back: so a search always ends. Lines are in the order of the hashes, so growing is one
// pass over both arrays. Not thread-safe.
class Index {
 public:
  // `phase` in [0, 1) shifts the sizes at which the index grows, so that shards of equal size do not all grow at once.
  explicit Index(double phase = 0);

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return lines_ * sizeof(Line); }

  // The value of `bytes` after reserve(rows).
  [[nodiscard]] std::size_t bytes_for(std::size_t rows) const noexcept { return lines_for(rows) * sizeof(Line); }

  // Reserves space for `rows` keys in total. If it throws std::bad_alloc, nothing has changed.
  void reserve(std::size_t rows);

  // Adds a key that is not present, in space from `reserve`. `hash` is hash_key(key), here and below.
  void insert(std::uint64_t hash, std::int64_t key, Slot slot) noexcept;

  // Deletes a key; returns its slot, or kAbsent if it was not present.
  Slot erase(std::uint64_t hash, std::int64_t key) noexcept;

  [[nodiscard]] Slot find(std::uint64_t hash, std::int64_t key) const noexcept { return find_from(home(hash), key); }

  // The same in two steps: the place to prefetch, then the search from there.
  [[nodiscard]] std::size_t prefetch(std::uint64_t hash) const noexcept {
    const std::size_t at = home(hash);
    __builtin_prefetch(&table()[at]);
    return at;
  }
  [[nodiscard]] Slot find_from(std::size_t at, std::int64_t key) const noexcept {
    for (;;) {
      const Line& line = table()[at];
      const unsigned found = match(line, key);
      if (found != 0) return line.slots[__builtin_ctz(found)];
      if (is_last(line)) return kAbsent;
      at = after(at);
    }
  }

  // Calls visit(key, slot) for every key, in the order of the hashes' lines.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t at = 0; at < lines_; ++at) {
      const Line& line = table()[at];
      for (unsigned used = line.used; used != 0; used &= used - 1) {
        const int i = __builtin_ctz(used);
        visit(line.keys[i], line.slots[i]);
      }
    }
  }

 private:
  static constexpr unsigned kWays = 5;
  static constexpr unsigned kFull = (1U << kWays) - 1;
  static constexpr std::uint16_t kManyPassed = 0xffff;  // saturated: not counted further, never decremented

  struct alignas(64) Line {
    std::int64_t keys[kWays];
    Slot slots[kWays];
    std::uint8_t used;  // bit i: keys[i] is used
    std::uint8_t unused;
    std::uint16_t passed;  // keys of this line or an earlier one that are placed behind it
  };
  static_assert(sizeof(Line) == 64, "a line of the index is a line of the cache");

  Index(Region memory, std::size_t lines) noexcept : memory_(std::move(memory)), lines_(lines) {}

  [[nodiscard]] std::size_t lines_for(std::size_t rows) const noexcept;

  // Compares all eight words of the line, which is one vector operation; bits of words that are not keys are cleared.
  [[nodiscard]] static unsigned match(const Line& line, std::int64_t key) noexcept {
    std::int64_t words[8];
    std::memcpy(words, &line, sizeof words);
    std::uint64_t equal = 0;
    for (unsigned i = 0; i < 8; ++i) equal |= words[i] == key ? std::uint64_t{1} << i : 0;
    return static_cast<unsigned>(equal) & line.used;
  }

  // Whether no key of this line or an earlier one is placed behind it.
  [[nodiscard]] static bool is_last(const Line& line) noexcept { return line.passed == 0 || line.used != kFull; }

  // The upper bits of a hash select the shard, the lower 32 bits the line: proportionally, so any number of lines
  // works.
  [[nodiscard]] std::size_t home(std::uint64_t hash) const noexcept { return ((hash & 0xffffffffU) * lines_) >> 32; }
  [[nodiscard]] std::size_t after(std::size_t at) const noexcept { return at + 1 == lines_ ? 0 : at + 1; }
  [[nodiscard]] std::size_t distance(std::size_t from, std::size_t to) const noexcept {
    return to >= from ? to - from : to + lines_ - from;
  }
  void unpass(std::size_t from, std::size_t to) noexcept;
  [[nodiscard]] std::size_t key_behind(std::size_t gap) const noexcept;
  [[nodiscard]] unsigned belongs_before(const Line& line, std::size_t at, std::size_t gap) const noexcept;
  [[nodiscard]] Line* table() noexcept { return static_cast<Line*>(memory_.get()); }
  [[nodiscard]] const Line* table() const noexcept { return static_cast<const Line*>(memory_.get()); }

  Region memory_;
  std::size_t lines_;
  std::size_t size_ = 0;
};

}  // namespace recmigrate
