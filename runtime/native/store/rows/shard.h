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
#include "store/rows/index.h"
#include "store/rows/rows.h"
#include "store/snapshots/capture.h"
#include "store/updates/optimizer.h"

namespace recmigrate {

// What a new row starts with.
struct NewRow {
  const Initializer* initializer;
  std::int64_t seed;
  SlotStarts starts;
  float left;  // of the initial value, after the weight decay that all rows had
};

struct Shard {
  Shard(double phase, const RowLayout& layout, Arena& arena) : index(phase), rows(layout, arena) {}

  [[nodiscard]] float* find(std::uint64_t hash, std::int64_t key) const noexcept {
    const Slot slot = index.find(hash, key);
    return slot == kAbsent ? nullptr : rows.row(slot);
  }
  [[nodiscard]] std::size_t bytes(const RowLayout& layout) const noexcept {
    return used * layout.stride() * sizeof(float) + index.bytes() + sightings.bytes() + (bloom ? bloom->bytes() : 0);
  }
  // What `reserve(more)` and the insertions will add to `bytes`.
  [[nodiscard]] std::size_t bytes_for(std::size_t more, const RowLayout& layout) const noexcept;
  // Makes room for `more` further rows. Throws std::bad_alloc, and then nothing has changed.
  void reserve(std::size_t more);
  // Puts a key that is not present into room that `reserve` made and gives it its first values; returns its row.
  float* insert(std::uint64_t hash, std::int64_t key, const RowLayout& layout, const NewRow& fresh) noexcept;
  // The same, but the values are left to the caller.
  float* insert_empty(std::uint64_t hash, std::int64_t key, const RowLayout& layout) noexcept;
  // Deletes a key; false when it was not there.
  bool remove(std::uint64_t hash, std::int64_t key, const RowLayout& layout) noexcept;

  mutable SharedMutex mutex;  // guards everything below
  Index index;
  Rows rows;
  Slot used = 0;  // slots that were ever taken
  FreeSlots free;
  ShardCapture capture;
  std::vector<Index> lower;              // a tier each: the keys whose rows lie there, with their places
  Sightings sightings;                   // of keys that have no row
  std::unique_ptr<CountingBloom> bloom;  // counts those instead, when there is one
};

}  // namespace recmigrate
