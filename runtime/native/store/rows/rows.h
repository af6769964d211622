// The rows of one shard, in chunks that never move: value[dim], which may have two bytes each, optimizer slots, then
// four-byte cells.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "store/rows/index.h"
#include "store/rows/memory.h"
#include "store/rows/row.h"
#include "store/rows/value_type.h"

namespace recmigrate {

// Four-byte numbers that a row may have after its slots; a table has those that its features need.
enum class Cell : unsigned {
  last_step,   // optimizers that move every row: the step up to which the row has caught up
  count,       // admission: the number of occurrences of the key
  last_seen,   // eviction: the time of the last occurrence
  version,     // incremental checkpoints: when the row last changed
  generation,  // addresses: how often the place was taken or left
  used,        // eviction at a limit, and tiers: the last batch that used it
  uses,        // tiers: the number of batches that used it; 0 if there is no row
  key_low,     // tiers, which search rows to move down in memory order
  key_high,
};

[[nodiscard]] inline std::uint32_t read_cell(const float* cell) noexcept {
  std::uint32_t value = 0;
  std::memcpy(&value, cell, sizeof value);
  return value;
}
inline void write_cell(float* cell, std::uint32_t value) noexcept { std::memcpy(cell, &value, sizeof value); }

// The contents of a row, in units of four bytes.
struct RowLayout {
  std::size_t dim = 1;
  std::size_t slots = 0;  // each `dim` wide
  unsigned present = 0;   // a bit per Cell
  ValueType values = ValueType::float32;

  [[nodiscard]] static constexpr unsigned bit(Cell cell) noexcept { return 1U << static_cast<unsigned>(cell); }
  [[nodiscard]] bool has(Cell cell) const noexcept { return (present & bit(cell)) != 0; }
  [[nodiscard]] std::size_t cells() const noexcept { return static_cast<std::size_t>(__builtin_popcount(present)); }
  [[nodiscard]] std::size_t slot_width() const noexcept { return dim * slots; }
  // Whether values have two bytes, so that rules work on copies.
  [[nodiscard]] bool narrow() const noexcept { return values != ValueType::float32; }
  [[nodiscard]] std::size_t slots_at() const noexcept { return value_units(values, dim); }
  [[nodiscard]] std::size_t cells_at() const noexcept { return slots_at() + slot_width(); }
  [[nodiscard]] std::size_t stride() const noexcept { return cells_at() + cells(); }
  [[nodiscard]] std::uint32_t read(const float* row, Cell cell) const noexcept { return read_cell(row + at(cell)); }
  void write(float* row, Cell cell, std::uint32_t value) const noexcept { write_cell(row + at(cell), value); }
  [[nodiscard]] std::int64_t read_key(const float* row) const noexcept {
    const std::uint64_t high = read(row, Cell::key_high);
    return static_cast<std::int64_t>(high << 32 | read(row, Cell::key_low));
  }
  void write_key(float* row, std::int64_t key) const noexcept {
    write(row, Cell::key_low, static_cast<std::uint32_t>(static_cast<std::uint64_t>(key)));
    write(row, Cell::key_high, static_cast<std::uint32_t>(static_cast<std::uint64_t>(key) >> 32));
  }
  // The value of a row as float32, as it is stored.
  void read_value(const float* row, float* out) const noexcept {
    narrow() ? widen_values(values, row, out, dim) : copy_row(out, row, dim);
  }
  // Sets the value of a row, rounded to the nearest.
  void write_value(float* row, const float* value) const noexcept {
    narrow() ? store_nearest(values, row, value, dim) : copy_row(row, value, dim);
  }
  // Of a narrow row: columns [at, at + width) of value and slots, [1 + slots, width], as rules take them; and back,
  // rounded to the nearest. `at` is even.
  void widen_columns(const float* row, std::size_t at, std::size_t width, float* columns) const noexcept {
    widen_values(values, row + at / 2, columns, width);
    for (std::size_t s = 0; s < slots; ++s) {
      std::memcpy(columns + (1 + s) * width, row + slots_at() + s * dim + at, width * sizeof(float));
    }
  }
  void store_columns(float* row, std::size_t at, std::size_t width, const float* columns) const noexcept {
    store_nearest(values, row + at / 2, columns, width);
    for (std::size_t s = 0; s < slots; ++s) {
      std::memcpy(row + slots_at() + s * dim + at, columns + (1 + s) * width, width * sizeof(float));
    }
  }
  // Copies the cells that both layouts have from a row of another layout.
  void copy_cells(float* row, const RowLayout& from, const float* old) const noexcept;
  // The position of a cell in a row, which must have it; loops over many rows compute it once.
  [[nodiscard]] std::size_t at(Cell cell) const noexcept {
    return cells_at() + static_cast<std::size_t>(__builtin_popcount(present & (bit(cell) - 1)));
  }
  [[nodiscard]] bool operator==(const RowLayout& other) const noexcept {
    return dim == other.dim && slots == other.slots && present == other.present && values == other.values;
  }
  // Rows per chunk as a power of two, and the chunk's size: large enough that the list of chunks stays in the cache.
  [[nodiscard]] unsigned chunk_shift() const noexcept;
  [[nodiscard]] std::size_t chunk_bytes() const noexcept {
    return ((stride() << chunk_shift()) * sizeof(float) + 63) / 64 * 64;  // chunks start on cache lines
  }
};

class Rows {
 public:
  // The share `phase` in [0, 1) of the first chunk is left out (it is not touched, so it costs no memory): else shards
  // of equal size would all begin a chunk, and wait for its memory, at once.
  // The first rows are in blocks of at most `block_bytes`.
  Rows(const RowLayout& layout, Arena& arena, double phase = 0, std::size_t block_bytes = kFewBytes) noexcept
      : stride_(layout.stride()),
        shift_(layout.chunk_shift()),
        left_out_(static_cast<std::size_t>(phase * static_cast<double>(std::size_t{1} << shift_))),
        arena_(&arena) {
    const std::size_t bytes = stride_ * sizeof(float);
    while (bytes << (few_shift_ + 1) <= block_bytes && few_shift_ < shift_) ++few_shift_;
    if (bytes <= block_bytes) few_ = kBlocks << few_shift_;
  }

  // Reserves space for `rows` rows in total; a row that was never used is all zero. If it throws std::bad_alloc,
  // nothing has changed that is seen.
  void reserve(std::size_t rows) {
    for (; blocks_ < kBlocks && (blocks_ << few_shift_) < std::min(rows, few_); ++blocks_) {
      first_[blocks_] = arena_->block((stride_ << few_shift_) * sizeof(float));
    }
    while (rows > few_ && (chunks_.size() << shift_) < rows - few_ + left_out_) {
      if (chunks_.size() == chunks_.capacity()) chunks_.reserve(2 * chunks_.size() + 1);
      chunks_.push_back(arena_->chunk());
    }
  }

  [[nodiscard]] float* row(Slot slot) const noexcept {
    if (slot < few_) return place(first_[slot >> few_shift_], slot, few_shift_);
    const std::size_t at = slot - few_ + left_out_;
    return place(chunks_[at >> shift_], at, shift_);
  }

  // The first rows of a shard are in small blocks beside those of other shards: a small table would otherwise have a
  // page for every few rows, all at the same distance, which neither the caches nor the page tables hold.
  static constexpr std::size_t kBlocks = 4;
  static constexpr std::size_t kFewBytes = 1024;
  // Of a shard with the rows of all: most small tables are in blocks alone, which a search then foresees.
  static constexpr std::size_t kAllBytes = std::size_t{32} << 10;

 private:
  [[nodiscard]] float* place(float* rows, std::size_t at, unsigned shift) const noexcept {
    return rows + (at & ((std::size_t{1} << shift) - 1)) * stride_;
  }

  std::size_t stride_;
  std::size_t few_ = 0;  // rows in blocks
  unsigned few_shift_ = 0;
  unsigned shift_;
  std::size_t left_out_;  // rows of the first chunk
  float* first_[kBlocks] = {};
  std::vector<float*> chunks_;
  std::size_t blocks_ = 0;
  Arena* arena_;
};

// The slots of removed rows, the last one first. They are linked through the rows themselves, so removing needs no
// memory.
class FreeSlots {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  void push(Slot slot, const Rows& rows) noexcept {
    std::memcpy(rows.row(slot), &first_, sizeof first_);
    first_ = slot;
    ++size_;
  }
  // There must be one.
  [[nodiscard]] Slot pop(const Rows& rows) noexcept {
    const Slot slot = first_;
    first_ = after(slot, rows);
    --size_;
    return slot;
  }

  template <typename Visit>
  void for_each(const Rows& rows, const Visit& visit) const {
    for (Slot slot = first_; slot != kAbsent; slot = after(slot, rows)) visit(slot);
  }

 private:
  [[nodiscard]] static Slot after(Slot slot, const Rows& rows) noexcept {
    Slot next = kAbsent;
    std::memcpy(&next, rows.row(slot), sizeof next);
    return next;
  }

  Slot first_ = kAbsent;
  std::size_t size_ = 0;
};

}  // namespace recmigrate
