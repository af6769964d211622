// One shard of a table: the keys whose hash has its number in the highest bits, with their rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "store/admission/admission.h"
#include "store/admission/bloom.h"
#include "store/initializers/initializer.h"
#include "store/locks.h"
#include "store/lookup/batch.h"
#include "store/rows/base.h"
#include "store/rows/dense_rows.h"
#include "store/rows/index.h"
#include "store/rows/rows.h"
#include "store/snapshots/capture.h"
#include "store/updates/optimizer.h"

namespace recmigrate {

// The initial contents of a row.
struct NewRow {
  const Initializer* initializer;
  const Base* base;  // null without one
  std::int64_t seed;
  SlotStarts starts;
  float left;                       // share of the initial value that remains after the weight decay of all rows so far
  mutable std::vector<float> wide;  // space for a value that is rounded when it is stored; else empty
};

// What every lookup reads is in two cache lines.
struct alignas(64) Shard {
  // `whole`: it has the rows of all shards.
  Shard(std::size_t number, const RowLayout& layout, Arena& arena, DenseMemory& memory, bool whole = false)
      : index(phase(number)),
        rows(layout, arena, phase(number), block_bytes(whole)),
        dense(layout.stride(), memory, number, whole) {}
  // Of `Index` and `Rows`, for the shard with this number.
  [[nodiscard]] static double phase(std::size_t number) noexcept { return static_cast<double>(number) / kShards; }
  // Of `Rows`.
  [[nodiscard]] static std::size_t block_bytes(bool whole) noexcept {
    return whole ? Rows::kAllBytes : Rows::kFewBytes;
  }

  // The slot of a key, or kAbsent; its row, or null.
  [[nodiscard]] Slot slot_of(std::uint64_t hash, std::int64_t key) const noexcept {
    return dense.covers(key) ? dense.find(key) : index.find(hash, key);
  }
  [[nodiscard]] float* find(std::uint64_t hash, std::int64_t key) const noexcept {
    const Slot slot = slot_of(hash, key);
    return slot == kAbsent ? nullptr : row(slot);
  }
  [[nodiscard]] float* row(Slot slot) const noexcept {
    return (slot & kDense) != 0 ? dense.row(slot & ~kDense) : rows.row(slot);
  }
  // Number of rows.
  [[nodiscard]] std::size_t size() const noexcept { return index.size() + dense.size(); }
  // Calls visit(key, slot) for every row.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    dense.for_each(visit);
    index.for_each(visit);
  }
  [[nodiscard]] std::size_t bytes(const RowLayout& layout) const noexcept {
    return used * layout.stride() * sizeof(float) + index.bytes() + dense.bytes() + sightings.bytes() +
           (bloom ? bloom->bytes() : 0);
  }
  // What `reserve(more)` and the insertions will add to `bytes`, without dense rows.
  [[nodiscard]] std::size_t bytes_for(std::size_t more, const RowLayout& layout) const noexcept;
  // Reserves space for `more` further rows that are not dense. If it throws std::bad_alloc, nothing has changed.
  void reserve(std::size_t more);
  // The same for the rows of keys that are not present: key(i) for i < count.
  template <typename KeyOf>
  void reserve_for(std::size_t count, const KeyOf& key) {
    std::size_t more = 0;
    for (std::size_t i = 0; i < count; ++i) dense.covers(key(i)) ? dense.reserve(key(i)) : void(++more);
    reserve(more);
  }
  // Inserts a key that is not present into space from `reserve`, with its initial values; returns its row.
  float* insert(std::uint64_t hash, std::int64_t key, const RowLayout& layout, const NewRow& fresh) noexcept;
  // The same, but the caller sets the values.
  float* insert_empty(std::uint64_t hash, std::int64_t key, const RowLayout& layout) noexcept;
  // Deletes a key; returns false if it was not present.
  bool remove(std::uint64_t hash, std::int64_t key, const RowLayout& layout) noexcept;

  static constexpr std::size_t kLookFirst = 32;

  mutable SharedMutex mutex;  // guards everything below
  Index index;
  Rows rows;
  DenseRows dense;
  Slot used = 0;                     // slots of `rows` that have ever been used
  std::size_t look_at = kLookFirst;  // with so many keys in the index, more rows may be worth being dense
  FreeSlots free;
  ShardCapture capture;
  std::vector<Index> lower;              // for each tier: the keys with rows there, and their places
  Sightings sightings;                   // of keys without a row
  std::unique_ptr<CountingBloom> bloom;  // counts those instead, if there is one
};

}  // namespace recmigrate
