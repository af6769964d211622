// Growing hash index: int64 key -> dense row slot (0, 1, 2, … in order of insertion). All 2^64 keys can be stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "store/hash.h"

namespace recmigrate {

using Slot = std::uint32_t;

// Also the largest row count: slots run from 0 to kAbsent - 1.
inline constexpr Slot kAbsent = 0xffffffffU;

// Ids handled together: their buckets, then keys and rows, are prefetched before the first of them is compared.
inline constexpr std::size_t kBlock = 32;

class Index {
 public:
  Index();

  [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }
  [[nodiscard]] const std::vector<std::int64_t>& keys() const noexcept { return keys_; }

  // Makes room for `rows` keys in all. Throws LimitReached or std::bad_alloc, and then nothing has changed.
  void reserve(std::size_t rows);

  // Adds a key that is not present, in room that `reserve` made; returns its slot.
  Slot insert_new(std::int64_t key) noexcept;

  [[nodiscard]] Slot find(std::int64_t key) const noexcept {
    const std::uint64_t hash = hash_key(key);
    return resolve(key, hash, probe(hash, hash & mask_));
  }

  // Finds up to kBlock keys. `touch(slot)` is called for each likely slot before any key is compared: prefetch there.
  template <typename Touch>
  void find_block(const std::int64_t* keys, std::size_t count, Slot* slots, Touch&& touch) const noexcept;

 private:
  // `slot_plus_one` 0 marks an empty bucket, so no key value is needed as a sentinel.
  struct Bucket {
    std::uint32_t fingerprint;
    std::uint32_t slot_plus_one;
  };
  static_assert(sizeof(Bucket) == 8, "eight buckets share a cache line; a larger bucket halves the probe speed");

  [[nodiscard]] static std::uint32_t fingerprint(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash >> 32);
  }

  // First bucket from `at` on that is empty or carries the fingerprint of `hash`.
  [[nodiscard]] std::size_t probe(std::uint64_t hash, std::size_t at) const noexcept {
    const std::uint32_t wanted = fingerprint(hash);
    while (buckets_[at].slot_plus_one != 0 && buckets_[at].fingerprint != wanted) at = (at + 1) & mask_;
    return at;
  }

  // Goes on from a bucket that `probe` gave until the key itself matches; kAbsent (0 - 1) when the run ends.
  [[nodiscard]] Slot resolve(std::int64_t key, std::uint64_t hash, std::size_t at) const noexcept {
    while (buckets_[at].slot_plus_one != 0 && keys_[buckets_[at].slot_plus_one - 1] != key) {
      at = probe(hash, (at + 1) & mask_);
    }
    return buckets_[at].slot_plus_one - 1;
  }

  void place(std::int64_t key, Slot slot) noexcept;

  std::vector<Bucket> buckets_;
  std::vector<std::int64_t> keys_;  // by slot
  std::size_t mask_;
};

template <typename Touch>
void Index::find_block(const std::int64_t* keys, std::size_t count, Slot* slots, Touch&& touch) const noexcept {
  std::uint64_t hashes[kBlock];
  std::size_t places[kBlock];
  for (std::size_t i = 0; i < count; ++i) {
    hashes[i] = hash_key(keys[i]);
    __builtin_prefetch(&buckets_[hashes[i] & mask_]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    places[i] = probe(hashes[i], hashes[i] & mask_);
    const Slot likely = buckets_[places[i]].slot_plus_one - 1;
    if (likely != kAbsent) {
      __builtin_prefetch(&keys_[likely]);
      touch(likely);
    }
  }
  for (std::size_t i = 0; i < count; ++i) slots[i] = resolve(keys[i], hashes[i], places[i]);
}

}  // namespace recmigrate
