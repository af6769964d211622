// One array of an index: cache lines of five keys with their slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "store/hash.h"
#include "store/rows/memory.h"

namespace recmigrate {

using Slot = std::uint32_t;

inline constexpr Slot kAbsent = 0xffffffffU;
// Slots are below this: larger ones are those of dense rows (dense_rows.h).
inline constexpr Slot kMostSlots = 0x80000000U;

struct alignas(64) Line {
  static constexpr unsigned kWays = 5;
  static constexpr unsigned kFull = (1U << kWays) - 1;

  std::int64_t keys[kWays];
  Slot slots[kWays];
  std::uint8_t used;  // bit i: keys[i] is used
  std::uint8_t unused;
  std::uint16_t passed;  // keys of this line or an earlier one that are placed behind it

  // Bit i: keys[i] is used and equal. Compilers make no vector operations of the loop; four keys are compared by
  // halves, which every x86-64 can.
  [[nodiscard]] unsigned match(std::int64_t key) const noexcept {
    unsigned equal = 0;
#if defined(__SSE2__)
    const __m128i wanted = _mm_set1_epi64x(key);
    const auto halves = [&](unsigned i) {
      return _mm_castsi128_ps(_mm_cmpeq_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(&keys[i])), wanted));
    };
    const __m128 first = halves(0);
    const __m128 second = halves(2);
    equal = static_cast<unsigned>(_mm_movemask_ps(_mm_and_ps(_mm_shuffle_ps(first, second, _MM_SHUFFLE(2, 0, 2, 0)),
                                                             _mm_shuffle_ps(first, second, _MM_SHUFFLE(3, 1, 3, 1)))));
    equal |= keys[4] == key ? 1U << 4 : 0U;
#else
    for (unsigned i = 0; i < kWays; ++i) equal |= keys[i] == key ? 1U << i : 0U;
#endif
    return equal & used;
  }

  // Whether no key of this line or an earlier one is placed behind it.
  [[nodiscard]] bool is_last() const noexcept { return passed == 0 || used != kFull; }
};
static_assert(sizeof(Line) == 64, "a line of the index is a line of the cache");

// Open addressing over lines. A key in its home line costs one cache miss, and so does an absent one, because a line
// counts the keys that were placed behind it. Only full lines are passed, also after deletions, which move keys back:
// so a search always ends. Lines are in the order of the hashes. Not thread-safe.
class Lines {
 public:
  Lines() noexcept = default;
  explicit Lines(std::size_t count) : memory_(allocate_region(count * sizeof(Line))), count_(count) {}

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  // Number of keys, those included that `move_from` has copied to other lines.
  [[nodiscard]] std::size_t keys() const noexcept { return keys_; }

  [[nodiscard]] const Line* begin() const noexcept { return static_cast<const Line*>(memory_.get()); }
  [[nodiscard]] const Line* end() const noexcept { return begin() + count_; }

  // The upper bits of a hash select the shard, the lower 32 bits the line: proportionally, so any number of lines
  // works.
  [[nodiscard]] std::size_t home(std::uint64_t hash) const noexcept { return ((hash & 0xffffffffU) * count_) >> 32; }
  // The lower 32 bits of the smallest hash whose home is line `at`; 2^32 for the end.
  [[nodiscard]] std::uint64_t first_hash(std::size_t at) const noexcept {
    return ((std::uint64_t{at} << 32) + count_ - 1) / count_;
  }

  // Adds a key that is not present; there must be a free place.
  void insert(std::uint64_t hash, std::int64_t key, Slot slot) noexcept;
  // Deletes a key; returns its slot, or kAbsent if it was not present.
  Slot erase(std::uint64_t hash, std::int64_t key) noexcept;

  // Copies to `to` all keys of the lines from `from` on, at least `least` lines of them; returns the line before which
  // all keys are copied. `from` is 0 or what the last call returned. The copies that stay here are dead, but keep their
  // places, so that searches for other keys still pass them. With the end, all keys are copied.
  std::size_t copy_lines(std::size_t from, std::size_t least, Lines& to) const noexcept;

  // Calls visit(key, slot) for the keys that copy_lines has not copied, where it has come to line `from`.
  template <typename Visit>
  void for_each_from(std::size_t from, Visit&& visit) const {
    if (from != 0) for_each_wrapped(visit, from);
    for (std::size_t at = from; at < count_; ++at) visit_line(begin()[at], visit);
  }

 private:
  static constexpr std::uint16_t kManyPassed = 0xffff;  // saturated: not counted further, never decremented

  template <typename Visit>
  static void visit_line(const Line& line, Visit&& visit) {
    for (unsigned used = line.used; used != 0; used &= used - 1) {
      const int i = __builtin_ctz(used);
      visit(line.keys[i], line.slots[i]);
    }
  }
  // Visits the keys in lines before `to` that found no place up to the last line.
  template <typename Visit>
  void for_each_wrapped(Visit&& visit, std::size_t to) const {
    if (begin()[count_ - 1].is_last()) return;
    for (std::size_t at = 0; at < to; ++at) {
      visit_line(begin()[at], [&](std::int64_t key, Slot slot) {
        if (home(hash_key(key)) > at) visit(key, slot);
      });
      if (begin()[at].is_last()) return;
    }
  }

  [[nodiscard]] Line* lines() noexcept { return static_cast<Line*>(memory_.get()); }
  [[nodiscard]] std::size_t after(std::size_t at) const noexcept { return at + 1 == count_ ? 0 : at + 1; }
  [[nodiscard]] std::size_t distance(std::size_t from, std::size_t to) const noexcept {
    return to >= from ? to - from : to + count_ - from;
  }
  void unpass(std::size_t from, std::size_t to) noexcept;
  [[nodiscard]] std::size_t key_behind(std::size_t gap) const noexcept;
  [[nodiscard]] unsigned belongs_before(const Line& line, std::size_t at, std::size_t gap) const noexcept;

  Region memory_;
  std::size_t count_ = 0;
  std::size_t keys_ = 0;
};

}  // namespace recmigrate
