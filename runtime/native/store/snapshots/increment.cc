#include "store/snapshots/increment.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "store/errors.h"
#include "store/hash.h"
#include "store/parallel.h"

namespace recmigrate {
namespace {

constexpr std::size_t kGrain = 4096;
constexpr std::uint32_t kNone = 0xffffffffU;

// Each step is a bijection of the state for a given word, and of the word for a given state.
std::uint64_t absorb(std::uint64_t state, const float* values, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; i += 2) {
    std::uint64_t word = 0;
    std::memcpy(&word, values + i, std::min<std::size_t>(2, count - i) * sizeof(float));
    state = (state ^ word) * 0x9e3779b97f4a7c15ULL;
    state ^= state >> 32;
  }
  return state;
}

// The former keys in an open-addressing table, which several threads may search.
class KeySet {
 public:
  KeySet(const std::int64_t* keys, std::size_t count) : keys_(keys) {
    std::size_t size = 16;
    while (size < 2 * count) size *= 2;
    places_.assign(size, kNone);
    mask_ = size - 1;
    constexpr std::size_t kAhead = 16;
    for (std::size_t i = 0; i < count; ++i) {
      if (i + kAhead < count) __builtin_prefetch(&places_[hash_key(keys[i + kAhead]) & mask_], 1);
      std::size_t at = hash_key(keys[i]) & mask_;
      while (places_[at] != kNone) at = (at + 1) & mask_;
      places_[at] = static_cast<std::uint32_t>(i);
    }
  }

  void prefetch(std::int64_t key) const noexcept { __builtin_prefetch(&places_[hash_key(key) & mask_]); }

  // The position of `key`, or kNone.
  [[nodiscard]] std::uint32_t find(std::int64_t key) const noexcept {
    std::size_t at = hash_key(key) & mask_;
    while (places_[at] != kNone && keys_[places_[at]] != key) at = (at + 1) & mask_;
    return places_[at];
  }

 private:
  const std::int64_t* keys_;
  std::vector<std::uint32_t> places_;
  std::size_t mask_ = 0;
};

}  // namespace

void fingerprint_rows(const SnapshotRows& rows, std::int64_t* out) {
  parallel::ranges(rows.count, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      std::uint64_t state = absorb(0, rows.values + i * rows.dim, rows.dim);
      state = absorb(state, rows.slots + i * rows.width, rows.width);
      std::memcpy(out + i, &state, sizeof state);
    }
  });
}

Changes find_changes(const std::int64_t* before_keys, const std::int64_t* before, std::size_t before_count,
                     const std::int64_t* keys, const std::int64_t* now, std::size_t count) {
  if (std::max(before_count, count) >= kNone) {
    fail_limit("an increment compares at most 4294967294 rows, not " + std::to_string(std::max(before_count, count)));
  }
  // Bytes, not bits, because threads write neighbouring entries.
  std::vector<std::uint8_t> changed(count);
  std::vector<std::uint8_t> kept(before_count);
  const KeySet former(before_keys, before_count);
  parallel::ranges(count, kGrain, [&](std::size_t begin, std::size_t end) {
    constexpr std::size_t kAhead = 16;
    for (std::size_t i = begin; i < end; ++i) {
      if (i + kAhead < end) former.prefetch(keys[i + kAhead]);
      const std::uint32_t at = former.find(keys[i]);
      changed[i] = at == kNone || before[at] != now[i] ? 1 : 0;
      if (at != kNone) kept[at] = 1;
    }
  });
  Changes result;
  for (std::size_t i = 0; i < count; ++i) {
    if (changed[i] != 0) result.changed.push_back(static_cast<std::int64_t>(i));
  }
  for (std::size_t i = 0; i < before_count; ++i) {
    if (kept[i] == 0) result.removed.push_back(before_keys[i]);
  }
  return result;
}

}  // namespace recmigrate
