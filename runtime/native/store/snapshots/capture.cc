#include "store/snapshots/capture.h"

#include <cstring>
#include <utility>

#include "store/rows/narrow_rows.h"

namespace recmigrate {

void write_row(const RowLayout& layout, const Destination& to, std::size_t at, const float* row,
               const Steps* steps) noexcept {
  const std::size_t width = layout.slot_width();
  if (steps != nullptr && layout.narrow()) {
    narrow::copy(layout, *steps, row, to.values + at * layout.dim, to.slots + at * width);
  } else if (steps != nullptr) {
    steps->copy(row, layout.read(row, Cell::last_step), layout.dim, to.values + at * layout.dim, to.slots + at * width);
  } else {
    layout.read_value(row, to.values + at * layout.dim);
    if (width != 0) std::memcpy(to.slots + at * width, row + layout.slots_at(), width * sizeof(float));
  }
  if (layout.present != 0 && to.cells != nullptr) {
    std::memcpy(to.cells + at * layout.cells(), row + layout.cells_at(), layout.cells() * sizeof(std::uint32_t));
  }
}

std::size_t ShardCapture::freeze(Slot used, const FreeSlots& free, const Rows& rows,
                                 const std::vector<std::uint64_t>& dense) {
  live_ = dense;
  dense_ = 64 * dense.size();
  live_.resize(dense.size() + (std::size_t{used} + 63) / 64, ~std::uint64_t{0});
  if (used % 64 != 0) live_.back() = (std::uint64_t{1} << (used % 64)) - 1;
  free.for_each(rows, [this](Slot slot) { live_[place_of(slot) / 64] &= ~(std::uint64_t{1} << (slot % 64)); });
  saved_.assign(live_.size(), 0);
  before_.resize(live_.size());
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    before_[i] = count;
    count += static_cast<std::uint32_t>(__builtin_popcountll(live_[i]));
  }
  return count;
}

void ShardCapture::start(const RowLayout& layout, const Destination& to, std::size_t begin,
                         std::shared_ptr<const Steps> steps) noexcept {
  layout_ = layout;
  to_ = to;
  begin_ = begin;
  steps_ = std::move(steps);
  active_ = true;
}

std::size_t ShardCapture::row_of(std::size_t at) const noexcept {
  const std::uint64_t lower = live_[at / 64] & ((std::uint64_t{1} << (at % 64)) - 1);
  return begin_ + before_[at / 64] + static_cast<std::size_t>(__builtin_popcountll(lower));
}

void ShardCapture::save(Slot slot, const float* row) noexcept {
  const std::size_t at = place_of(slot);
  if (!frozen(at) || bit(saved_, at)) return;
  saved_[at / 64] |= std::uint64_t{1} << (at % 64);
  write_row(layout_, to_, row_of(at), row, steps_.get());
}

void ShardCapture::save_key(Slot slot, std::int64_t key) noexcept {
  const std::size_t at = place_of(slot);
  if (frozen(at)) to_.keys[row_of(at)] = key;
}

}  // namespace recmigrate
