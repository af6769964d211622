// Copy on write for snapshots: while a snapshot is being written, a row is copied to it before it changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "store/rows/dense_rows.h"
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

  // Freezes the set of rows: the dense ones, and slots below `used` except the `free` ones. They will be written to
  // `to` from row `begin` on, in the order of slots, the dense ones first, once `start` has given these. Returns their
  // number. Throws std::bad_alloc.
  [[nodiscard]] std::size_t freeze(Slot used, const FreeSlots& free, const Rows& rows,
                                   const std::vector<std::uint64_t>& dense);
  // Rows are written as they are after the last of `steps`, which may be null.
  void start(const RowLayout& layout, const Destination& to, std::size_t begin,
             std::shared_ptr<const Steps> steps) noexcept;
  void stop() noexcept { *this = ShardCapture(); }

  // Number of places of frozen slots, some of which have none; and visit(slot) for those of [begin, end) that are not
  // copied.
  [[nodiscard]] std::size_t places() const noexcept { return live_.size() * 64; }
  template <typename Visit>
  void for_each_left(std::size_t begin, std::size_t end, const Visit& visit) const {
    for (std::size_t i = begin; i < end; ++i) {
      if (bit(live_, i) && !bit(saved_, i)) {
        visit(i < dense_ ? kDense | static_cast<Slot>(i) : static_cast<Slot>(i - dense_));
      }
    }
  }
  // Copies the row, unless it is not part of the snapshot or was copied before.
  void save(Slot slot, const float* row) noexcept;
  void save_key(Slot slot, std::int64_t key) noexcept;

 private:
  [[nodiscard]] static bool bit(const std::vector<std::uint64_t>& bits, std::size_t at) noexcept {
    return (bits[at / 64] >> (at % 64) & 1) != 0;
  }
  // The place of a slot among the frozen ones.
  [[nodiscard]] std::size_t place_of(Slot slot) const noexcept {
    return (slot & kDense) != 0 ? slot & ~kDense : dense_ + slot;
  }
  [[nodiscard]] bool frozen(std::size_t at) const noexcept { return at < places() && bit(live_, at); }
  // The row of the snapshot that a place has.
  [[nodiscard]] std::size_t row_of(std::size_t at) const noexcept;

  bool active_ = false;
  std::size_t dense_ = 0;  // places of dense rows
  std::vector<std::uint64_t> live_;
  std::vector<std::uint64_t> saved_;
  std::vector<std::uint32_t> before_;  // live places before each word of live_
  RowLayout layout_;
  Destination to_;
  std::shared_ptr<const Steps> steps_;
  std::size_t begin_ = 0;
};

}  // namespace recmigrate
