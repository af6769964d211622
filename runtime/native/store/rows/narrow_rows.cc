#include "store/rows/narrow_rows.h"

#include <algorithm>

#include "store/updates/optimizer.h"

namespace recmigrate::narrow {
namespace {

constexpr std::size_t kColumns = 64;  // at a time, so that they fit on the stack

// Calls visit(at, width, columns) for columns of the row, [1 + slots, width].
template <typename Visit>
void by_columns(const RowLayout& layout, const float* row, const Visit& visit) noexcept {
  float columns[kColumns * (1 + kMaxSlots)];
  for (std::size_t at = 0; at < layout.dim; at += kColumns) {
    const std::size_t width = std::min(kColumns, layout.dim - at);
    layout.widen_columns(row, at, width, columns);
    visit(at, width, columns);
  }
}

}  // namespace

void round(ValueType type, float* value, std::size_t dim) noexcept {
  float stored[kColumns / 2];
  for (std::size_t at = 0; at < dim; at += kColumns) {
    const std::size_t width = std::min(kColumns, dim - at);
    store_nearest(type, stored, value + at, width);
    widen_values(type, stored, value + at, width);
  }
}

void value(const RowLayout& layout, const Steps& steps, const float* row, float* out) noexcept {
  const std::uint32_t from = layout.read(row, Cell::last_step);
  if (from >= steps.now()) return layout.read_value(row, out);
  by_columns(layout, row, [&](std::size_t at, std::size_t width, const float* columns) {
    steps.value(columns, from, width, out + at);
  });
}

void catch_up(const RowLayout& layout, const Steps& steps, float* row) noexcept {
  const std::uint32_t from = layout.read(row, Cell::last_step);
  if (from >= steps.now()) return;
  by_columns(layout, row, [&](std::size_t at, std::size_t width, float* columns) {
    steps.catch_up(columns, from, width);
    layout.store_columns(row, at, width, columns);
  });
}

void copy(const RowLayout& layout, const Steps& steps, const float* row, float* value, float* slots) noexcept {
  const std::uint32_t from = layout.read(row, Cell::last_step);
  float own[kColumns * kMaxSlots];
  by_columns(layout, row, [&](std::size_t at, std::size_t width, const float* columns) {
    steps.copy(columns, from, width, value + at, own);
    for (std::size_t s = 0; s < layout.slots; ++s) std::copy_n(own + s * width, width, slots + s * layout.dim + at);
  });
}

}  // namespace recmigrate::narrow
