// Updates of rows whose values have two bytes: rules work on float32 copies, and each result is rounded once.
#include <algorithm>

#include "store/rows/value_type.h"
#include "store/updates/replayed.h"
#include "store/updates/slot_sets.h"
#include "store/updates/updates.h"

namespace recmigrate {
namespace {

constexpr std::size_t kCopied = 4096;  // floats of rows that are copied at once, so that they stay in the nearest cache

}  // namespace

// Floats for copies of rows of a part of so many ids; none for float32 rows.
std::size_t Updates::wide_floats(std::size_t count) const noexcept {
  if (!store_.narrow()) return 0;
  const std::size_t width = dim_ + state().layout.slot_width();
  return width * std::clamp<std::size_t>(kCopied / width, 1, std::clamp<std::size_t>(count, 1, kBlock));
}

void Updates::update_narrow(const Pass& pass, std::size_t part, std::size_t first, std::size_t count) const noexcept {
  const RowLayout& layout = state().layout;
  const std::size_t width = dim_ + layout.slot_width();
  const std::size_t most = pass.sums.copied_floats() / width;
  const std::uint32_t taken = state().steps ? state().steps->now() + (moves_all(pass.update) ? 1 : 0) : 0;
  const Rounding rounding(state().seed, pass.number);
  float* const copies = pass.sums.copies_of(part);
  float* wide[kBlock];
  std::uint32_t random[kBlock];
  for (std::size_t i = 0; i < most; ++i) wide[i] = copies + i * width;
  for (std::size_t end = first + count; first < end; first += most) {
    const std::size_t some = std::min(most, end - first);
    float* const* const rows = pass.batch.rows() + first;
    widen_rows(layout.values, rows, some, dim_, layout.slots, copies);
    for (std::size_t i = 0; state().steps && i < some; ++i) {
      const std::uint32_t from = layout.read(rows[i], Cell::last_step);
      state().steps->catch_up(wide[i], from, dim_);
      layout.write(rows[i], Cell::last_step, std::max(from, taken));
    }
    const std::size_t number = first - pass.batch.begin(part);
    float* const sums = pass.sums.of(part, number);
    if (pass.update.term.present) add_term(pass.update.term, wide, sums, some, dim_);
    apply_set(state().kind, pass.update, wide, sums, pass.sums.squares_of(part, number), some, dim_);
    for (std::size_t i = 0; i < some; ++i) random[i] = rounding.of(pass.batch.keys()[first + i]);
    store_rows(layout.values, rows, some, dim_, layout.slots, copies, random);
  }
}

}  // namespace recmigrate
