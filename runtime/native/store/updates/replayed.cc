#include "store/updates/replayed.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "store/errors.h"
#include "store/simd.h"
#include "store/updates/slot_sets.h"

namespace recmigrate {
namespace {

constexpr std::size_t kPiece = 64;  // columns at a time, so that a row is in registers or the nearest cache
constexpr std::size_t kTermNumbers = 2;

// kFresh: `sums` hold nothing yet. They begin with 0, as -0 is not what a sum from 0 gives.
template <bool kFresh>
RECMIGRATE_INLINE void add_l2_to(float l2, float* const* rows, float* sums, std::size_t count,
                                 std::size_t dim) noexcept {
  for (std::size_t r = 0; r < count; ++r) {
    const float* __restrict w = rows[r];
    float* __restrict sum = sums + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) sum[i] = (kFresh ? 0.0F : sum[i]) + l2 * w[i];
  }
}

RECMIGRATE_VECTOR_CLONES
void add_l2(float l2, float* const* rows, float* sums, std::size_t count, std::size_t dim) noexcept {
  add_l2_to<false>(l2, rows, sums, count, dim);
}

RECMIGRATE_VECTOR_CLONES
void set_l2(float l2, float* const* rows, float* sums, std::size_t count, std::size_t dim) noexcept {
  add_l2_to<true>(l2, rows, sums, count, dim);
}

RECMIGRATE_VECTOR_CLONES
void add_both(float l2, float l1, float* const* rows, float* sums, std::size_t count, std::size_t dim) noexcept {
  for (std::size_t r = 0; r < count; ++r) {
    const float* __restrict w = rows[r];
    float* __restrict sum = sums + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) {
      const float sign = w[i] > 0.0F ? 1.0F : w[i] < 0.0F ? -1.0F : 0.0F;
      sum[i] = sum[i] + l2 * w[i] + l1 * sign;
    }
  }
}

// sums[count, dim] = the gradient of the term alone.
void set_term(const WholeTable& term, float* const* rows, float* sums, std::size_t count, std::size_t dim) noexcept {
  if (term.l1 == 0.0F) return set_l2(term.l2, rows, sums, count, dim);
  std::fill_n(sums, count * dim, 0.0F);
  add_both(term.l2, term.l1, rows, sums, count, dim);
}

}  // namespace

void add_term(const WholeTable& term, float* const* rows, float* sums, std::size_t count, std::size_t dim) noexcept {
  if (term.l1 != 0.0F) return add_both(term.l2, term.l1, rows, sums, count, dim);
  add_l2(term.l2, rows, sums, count, dim);
}

Replayed::Replayed(OptimizerKind kind) : rule_(&rule_of(kind)), width_(rule_->hyper.size() + kTermNumbers) {
  if (kind == OptimizerKind::group_ftrl) {
    fail_invalid(
        "group_ftrl updates rows as a whole, so it cannot add an L1 or L2 term over all rows of a table; use ftrl");
  }
}

bool Replayed::fits(const Update& update) const noexcept { return slots_before(rule_->kind, update) != kNoSet; }

std::size_t Replayed::bytes() const noexcept {
  return ends_.capacity() * sizeof ends_[0] + numbers_.capacity() * sizeof numbers_[0];
}

void Replayed::check(const Update& update) const {
  if (update.nonfinite == Nonfinite::take || (std::isfinite(update.term.l2) && std::isfinite(update.term.l1))) return;
  fail_invalid("the factor of an L1 or L2 term over all rows of a table is NaN or infinite; no row was changed");
}

void Replayed::reserve() {
  if (has_room()) return;
  const std::size_t runs = ends_.size();
  const std::size_t room = std::max<std::size_t>(1024, runs + runs / 2);
  ends_.reserve(room);
  numbers_.reserve(room * width_);
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (now_ == kMost) fail_limit("a table with an L1 or L2 term over all rows takes at most 4294967295 steps");
  room_ = static_cast<std::uint32_t>(std::min(kMost, now_ + (room - runs)));
}

void Replayed::append(const Update& update) noexcept {
  float numbers[1 + kMaxHyper + kTermNumbers];
  write_step(*rule_, update, numbers);
  numbers[width_ - 2] = update.term.l2;
  numbers[width_ - 1] = update.term.l1;
  ++now_;
  push(numbers);
}

void Replayed::push(const float* numbers) noexcept {
  if (!ends_.empty() && std::memcmp(&numbers_[(ends_.size() - 1) * width_], numbers, width_ * sizeof(float)) == 0) {
    ends_.back() = now_;
    return;
  }
  ends_.push_back(now_);
  numbers_.insert(numbers_.end(), numbers, numbers + width_);
}

// Calls step(numbers, term) for each step after `from`.
template <typename Step>
void Replayed::for_each_step(std::uint32_t from, const Step& step) const {
  auto run = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), from) - ends_.begin());
  for (; run < ends_.size(); ++run) {
    const float* const numbers = &numbers_[run * width_];
    const WholeTable term{true, numbers[width_ - 2], numbers[width_ - 1]};
    for (; from < ends_[run]; ++from) step(numbers, term);
  }
}

// Lets columns of a row, value[width] and slots, take the steps after `from`.
void Replayed::replay(float* piece, std::uint32_t from, std::size_t width) const noexcept {
  float gradient[kPiece];
  float* const rows[] = {piece};
  for_each_step(from, [&](const float* numbers, const WholeTable& term) {
    set_term(term, rows, gradient, 1, width);
    apply_step(*rule_, numbers, rows, gradient, 1, width);
  });
}

void Replayed::catch_up_together(float* const* rows, std::size_t count, std::uint32_t from, std::size_t dim,
                                 float* gradients) const noexcept {
  for_each_step(from, [&](const float* numbers, const WholeTable& term) {
    set_term(term, rows, gradients, count, dim);
    apply_step(*rule_, numbers, rows, gradients, count, dim);
  });
}

// Calls visit(at, width, piece) for columns of the row as it is after all steps.
template <typename Visit>
void Replayed::by_pieces(const float* row, std::uint32_t from, std::size_t dim, const Visit& visit) const noexcept {
  float piece[kPiece * (1 + kMaxSlots)];
  for (std::size_t at = 0; at < dim; at += kPiece) {
    const std::size_t width = std::min(kPiece, dim - at);
    for (std::size_t s = 0; s <= rule_->slots; ++s) std::copy_n(row + s * dim + at, width, piece + s * width);
    replay(piece, from, width);
    visit(at, width, static_cast<const float*>(piece));
  }
}

void Replayed::catch_up(float* row, std::uint32_t from, std::size_t dim) const noexcept {
  if (from >= now_) return;
  by_pieces(row, from, dim, [&](std::size_t at, std::size_t width, const float* piece) {
    for (std::size_t s = 0; s <= rule_->slots; ++s) std::copy_n(piece + s * width, width, row + s * dim + at);
  });
}

void Replayed::value(const float* row, std::uint32_t from, std::size_t dim, float* out) const noexcept {
  if (from >= now_) {
    std::copy_n(row, dim, out);
    return;
  }
  by_pieces(row, from, dim,
            [&](std::size_t at, std::size_t width, const float* piece) { std::copy_n(piece, width, out + at); });
}

void Replayed::copy(const float* row, std::uint32_t from, std::size_t dim, float* value, float* slots) const noexcept {
  if (from >= now_) {
    std::copy_n(row, dim, value);
    std::copy_n(row + dim, dim * rule_->slots, slots);
    return;
  }
  by_pieces(row, from, dim, [&](std::size_t at, std::size_t width, const float* piece) {
    std::copy_n(piece, width, value + at);
    for (std::size_t s = 0; s < rule_->slots; ++s) {
      std::copy_n(piece + (1 + s) * width, width, slots + s * dim + at);
    }
  });
}

void Replayed::from_start(float* value, const SlotStarts& starts, std::size_t dim) const noexcept {
  float piece[kPiece * (1 + kMaxSlots)];
  for (std::size_t at = 0; now_ != 0 && at < dim; at += kPiece) {
    const std::size_t width = std::min(kPiece, dim - at);
    std::copy_n(value + at, width, piece);
    for (std::size_t s = 0; s < rule_->slots; ++s) std::fill_n(piece + (1 + s) * width, width, starts[s]);
    replay(piece, 0, width);
    std::copy_n(piece, width, value + at);
  }
}

// A step of the only optimizer so far becomes one of the first member.
std::unique_ptr<Steps> Replayed::extended(OptimizerKind kind) const {
  auto more = std::make_unique<Replayed>(kind);
  const std::size_t own = rule_->members.empty() ? 0 : 1;  // the number of the member
  std::vector<float> numbers(more->width_);
  for (std::size_t run = 0; run < ends_.size(); ++run) {
    const float* const from = &numbers_[run * width_];
    numbers[0] = own == 0 ? 0 : from[0];
    std::copy(from + own, from + width_ - kTermNumbers, numbers.begin() + 1);
    std::copy_n(from + width_ - kTermNumbers, kTermNumbers, numbers.end() - kTermNumbers);
    more->now_ = ends_[run];
    more->push(numbers.data());
  }
  return more;
}

// [runs, then of each run its last step and the bits of its numbers]
std::vector<std::int64_t> Replayed::saved() const {
  std::vector<std::int64_t> result{static_cast<std::int64_t>(ends_.size())};
  for (std::size_t run = 0; run < ends_.size(); ++run) {
    result.push_back(ends_[run]);
    for (std::size_t i = 0; i < width_; ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &numbers_[run * width_ + i], sizeof bits);
      result.push_back(bits);
    }
  }
  return result;
}

std::unique_ptr<Replayed> Replayed::restored(OptimizerKind kind, const std::int64_t* saved, std::size_t count,
                                             const std::string& prefix) {
  auto steps = std::make_unique<Replayed>(kind);
  const std::size_t width = steps->width_;
  if (count < 1 || saved[0] < 0 || static_cast<std::size_t>(saved[0]) != (count - 1) / (1 + width) ||
      (count - 1) % (1 + width) != 0) {
    fail_invalid(prefix + " has a list of past steps of the wrong length");
  }
  for (const std::int64_t* at = saved + 1; at != saved + count; at += 1 + width) {
    if (at[0] <= steps->now_ || at[0] > std::numeric_limits<std::uint32_t>::max()) {
      fail_invalid(prefix + " has a list of past steps that are not in order");
    }
    std::vector<float> numbers(width);
    for (std::size_t i = 0; i < width; ++i) {
      const auto bits = static_cast<std::uint32_t>(at[1 + i]);
      std::memcpy(&numbers[i], &bits, sizeof bits);
    }
    steps->now_ = static_cast<std::uint32_t>(at[0]);
    steps->push(numbers.data());
  }
  return steps;
}

}  // namespace recmigrate
