#include "store/rows/index.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "store/errors.h"

namespace recmigrate {
namespace {

constexpr double kSmallest = 2;
constexpr double kGrowth = 1.35;
// Above this load, too many keys are placed behind their line; below it, right after growing, memory is wasted.
constexpr double kFullest = 0.84;
// While keys move, the lines that they leave are used up to this load; beyond it, all that are left move at once.
constexpr double kFullestLeft = 0.9;
// Lines whose keys move for each key that is reserved for: all have moved when the index has grown by 3 %.
constexpr std::size_t kMovedPerRow = 8;

bool fits(std::size_t rows, double lines, double load) noexcept {
  return static_cast<double>(rows) <= std::floor(lines) * load * Line::kWays;
}

}  // namespace

Index::Index(double phase) : scale_(kSmallest * std::pow(kGrowth, phase)) {
  arrays_[0] = Lines(static_cast<std::size_t>(scale_));
}

// Sizes are those of one row of numbers for each phase: were they rounded, phases would meet after a while.
double Index::scale_for(std::size_t rows) const noexcept {
  double scale = scale_;
  while (!fits(rows, scale, kFullest)) scale *= kGrowth;
  return scale;
}

void Index::reserve(std::size_t rows) {
  if (rows >= kMostSlots) fail_limit("a shard of a table holds at most 2147483647 rows, not " + std::to_string(rows));
  const std::size_t more = rows > size_ ? rows - size_ : 0;
  const double scale = scale_for(rows);
  if (scale != scale_) {
    Lines fresh(static_cast<std::size_t>(scale));
    move(SIZE_MAX);  // the third array is the last one's successor
    arrays_[1] = std::move(fresh);
    scale_ = scale;
  }
  if (arrays_[1].count() == 0) return;
  const bool crowded = !fits(arrays_[0].keys() + more, static_cast<double>(arrays_[0].count()), kFullestLeft);
  move(crowded || more > SIZE_MAX / kMovedPerRow ? SIZE_MAX : more * kMovedPerRow);
}

void Index::move(std::size_t lines) noexcept {
  if (arrays_[1].count() == 0) return;
  moved_ = arrays_[0].copy_lines(moved_, lines, arrays_[1]);
  border_ = arrays_[0].first_hash(moved_);
  if (moved_ != arrays_[0].count()) return;
  arrays_[0] = std::exchange(arrays_[1], Lines());
  moved_ = 0;
  border_ = 0;
}

}  // namespace recmigrate
