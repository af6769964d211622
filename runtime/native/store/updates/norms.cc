#include "store/updates/norms.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "store/parallel.h"
#include "store/simd.h"
#include "store/updates/replayed.h"

namespace recmigrate {
namespace {

constexpr std::int64_t kTogether = std::int64_t{1} << 16;  // keys inserted at once

// Sums of eight columns side by side, which the compiler makes a vector of.
constexpr std::size_t kLanes = 8;

RECMIGRATE_VECTOR_CLONES
void add_rows(RowNorms& norms, const float* const* rows, std::size_t count, std::size_t dim) noexcept {
  double squares[kLanes] = {};
  double absolutes[kLanes] = {};
  double rest_squares = 0;  // apart: lanes that a loop of another length counts in do not stay in registers
  double rest_absolutes = 0;
  for (std::size_t r = 0; r < count; ++r) {
    const float* __restrict row = rows[r];
    std::size_t i = 0;
    for (; i + kLanes <= dim; i += kLanes) {
      for (std::size_t k = 0; k < kLanes; ++k) {
        const double value = row[i + k];
        squares[k] += value * value;
        absolutes[k] += std::fabs(value);
      }
    }
    for (; i < dim; ++i) {
      const double value = row[i];
      rest_squares += value * value;
      rest_absolutes += std::fabs(value);
    }
  }
  for (std::size_t k = 0; k < kLanes; ++k) {
    rest_squares += squares[k];
    rest_absolutes += absolutes[k];
  }
  norms.half_squares += 0.5 * rest_squares;
  norms.absolutes += rest_absolutes;
}

}  // namespace

RowNorms Norms::of_all_rows(std::int64_t size, std::int64_t every) {
  const std::lock_guard<std::mutex> one(mutex_);
  if (size > 0) complete(size);
  const ReadLock lock(store_.structure());
  if (calls_ != 0 && calls_ < every && epoch_ == store_.epoch()) {
    ++calls_;
    return known_;
  }
  const StepsGuard steps(store_);
  RowNorms parts[kShards];
  parallel::run(kShards, [&](std::size_t s) { parts[s] = of_shard(s); });
  known_ = {};
  for (const RowNorms& part : parts) {
    known_.half_squares += part.half_squares;
    known_.absolutes += part.absolutes;
  }
  epoch_ = store_.epoch();
  calls_ = 1;
  return known_;
}

// Rows only go with a new epoch.
void Norms::complete(std::int64_t size) {
  if (epoch_ == store_.epoch() && complete_to_ >= size && calls_ != 0) return;
  store_.expect(static_cast<std::size_t>(size));
  std::vector<std::int64_t> keys;
  for (std::int64_t first = 0; first < size; first += kTogether) {
    keys.resize(static_cast<std::size_t>(std::min(kTogether, size - first)));
    std::iota(keys.begin(), keys.end(), first);
    MemoryLimit::with_room([&] {
      const ReadLock lock(store_.structure());
      static_cast<void>(lookups_.resolve(keys.data(), keys.size()));
    });
  }
  complete_to_ = size;
}

// Rows that have the same bits if they catch up now do so, and need not take the same steps again.
RowNorms Norms::of_shard(std::size_t s) {
  RowNorms norms;
  Shard& shard = *state().shards[s];
  std::vector<float> values(kBlock * dim_);  // space for a block
  const WriteLock lock(shard.mutex);
  const std::size_t width = store_.plain() ? state().layout.slots_at() : state().layout.stride();
  const bool saves = store_.settles_reads() && shard.capture.active();
  float* rows[kBlock];
  std::size_t count = 0;
  const auto add = [&] {
    add_block(norms, rows, count, values.data());
    count = 0;
  };
  const auto collect = [&](Slot slot) {
    rows[count] = shard.row(slot);
    if (saves) shard.capture.save(slot, rows[count]);
    if (++count == kBlock) add();
  };
  shard.dense.for_each([&](std::int64_t, Slot slot) { collect(slot); });
  std::vector<bool> live(shard.used, true);
  shard.free.for_each(shard.rows, [&](Slot slot) { live[slot] = false; });
  for (Slot slot = 0; slot < shard.used; ++slot) {
    if (slot + kBlock < shard.used) prefetch_row(shard.rows.row(slot + kBlock), width);
    if (live[slot]) collect(slot);
  }
  add();
  visit_below(state(), s, [&](std::int64_t, const float* row) {
    store_.read_row(row, values.data());
    const float* const one[] = {values.data()};
    add_rows(norms, one, 1, dim_);
  });
  return norms;
}

// Rows that lie side by side have often taken the same steps.
void Norms::add_block(RowNorms& norms, float* const* rows, std::size_t count, float* values) const {
  if (store_.plain()) return add_rows(norms, rows, count, dim_);
  const auto* const steps = dynamic_cast<const Replayed*>(state().steps.get());
  if (steps != nullptr && !store_.narrow()) {
    const RowLayout& layout = state().layout;
    for (std::size_t first = 0, end = 0; first < count; first = end) {
      const std::uint32_t from = layout.read(rows[first], Cell::last_step);
      for (end = first; end < count && layout.read(rows[end], Cell::last_step) == from;) ++end;
      if (from >= steps->now()) continue;
      steps->catch_up_together(rows + first, end - first, from, dim_, values);
      for (std::size_t i = first; i < end; ++i) layout.write(rows[i], Cell::last_step, steps->now());
    }
    return add_rows(norms, rows, count, dim_);
  }
  const float* copies[kBlock];
  for (std::size_t i = 0; i < count; ++i) {
    store_.read_row(rows[i], values + i * dim_);
    copies[i] = values + i * dim_;
  }
  add_rows(norms, copies, count, dim_);
}

}  // namespace recmigrate
