// Copy on write for snapshots: while a snapshot is being written, a row is copied to it before it changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "store/rows/index.h"
#include "store/rows/rows.h"
#include "store/updates/steps.h"

namespace recmigrate {

// The destination of a snapshot: keys [n], values [n, dim], slots [n, slots * dim], cells [n, cells]; the last two may
// be null if a row has none.
struct Destination {
  std::int64_t* keys = nullptr;
  float* values = nullptr;
  float* slots = nullptr;
  std::uint32_t* cells = nullptr;
};

// Writes a row, as it is after the last of `steps` (may be null), to number `at`; the caller writes its key.
void write_row(const RowLayout& layout, const Destination& to, std::size_t at, const float* row,
               const Steps* steps) noexcept;

// One shard's part of a running snapshot. Guarded by the shard's lock; rows are not removed meanwhile.
class ShardCapture {
 public:
  [[nodiscard]] bool active() const noexcept { return active_; }

  // Freezes the set of rows: slots below `used` except the `free` ones. They will be written to `to` from row `begin`
  // on, in the order of slots, once `start` has given these. Returns their number. Throws std::bad_alloc.
  [[nodiscard]] std::size_t freeze(Slot used, const FreeSlots& free, const Rows& rows);
  // Rows are written as they are after the last of `steps`, which may be null.
  void start(const RowLayout& layout, const Destination& to, std::size_t begin,
             std::shared_ptr<const Steps> steps) noexcept;
  void stop() noexcept { *this = ShardCapture(); }

  // The frozen slots are below this.
  [[nodiscard]] Slot slots() const noexcept { return slots_; }
  // Copies the row, unless it is not part of the snapshot or was copied before.
  void save(Slot slot, const float* row) noexcept;
  void save_key(Slot slot, std::int64_t key) noexcept;

 private:
  [[nodiscard]] static bool bit(const std::vector<std::uint64_t>& bits, Slot slot) noexcept {
    return (bits[slot / 64] >> (slot % 64) & 1) != 0;
  }
  [[nodiscard]] bool frozen(Slot slot) const noexcept { return slot < slots_ && bit(live_, slot); }
  // The place of a frozen slot in the snapshot.
  [[nodiscard]] std::size_t place(Slot slot) const noexcept;

  bool active_ = false;
  Slot slots_ = 0;
  std::vector<std::uint64_t> live_;
  std::vector<std::uint64_t> saved_;
  std::vector<std::uint32_t> before_;  // live slots before each word of live_
  RowLayout layout_;
  Destination to_;
  std::shared_ptr<const Steps> steps_;
  std::size_t begin_ = 0;
};

}  // namespace recmigrate
