#include "store/updates/sums.h"

#include "store/parallel.h"
#include "store/rows/row.h"
#include "store/simd.h"
#include "store/updates/optimizer.h"

namespace recmigrate {
namespace {

// The number of an id's key, with this bit where the key occurs first.
constexpr std::uint32_t kFirst = std::uint32_t{1} << 31;

// sums[number] += rows[i] for each id i; rows are `dim` wide.
RECMIGRATE_VECTOR_CLONES
void sum_all(const std::uint32_t* numbers, std::size_t count, const float* rows, std::size_t dim,
             float* sums) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const float* __restrict row = rows + i * dim;
    float* __restrict sum = sums + (numbers[i] & ~kFirst) * dim;
    if ((numbers[i] & kFirst) != 0) {
      RECMIGRATE_INDEPENDENT
      for (std::size_t c = 0; c < dim; ++c) sum[c] = row[c];
    } else {
      RECMIGRATE_INDEPENDENT
      for (std::size_t c = 0; c < dim; ++c) sum[c] += row[c];
    }
  }
}

}  // namespace

Sums::Sums(const Batch& batch, const float* grads, std::size_t dim, bool with_squares, std::size_t copied)
    : dim_(dim),
      copied_(copied),
      parts_at_once_(batch.count() < kWorthSplitting ? 1 : kShards),
      floats_(batch.distinct() * dim),
      memory_(Scratch::bytes_of<float>(floats_) * (with_squares ? 2 : 1) +
              Scratch::bytes_of<float>(parts_at_once_ * copied)),
      sums_(memory_.take<float>(floats_)),
      squares_(with_squares ? memory_.take<float>(floats_) : nullptr),
      copies_(memory_.take<float>(parts_at_once_ * copied)) {
  begins_[0] = 0;
  for (std::size_t part = 0; part < kShards; ++part) {
    begins_[part + 1] = begins_[part] + static_cast<std::uint32_t>(batch.distinct(part));
  }
  const bool worth_it = dim >= kWide && batch.count() >= kWorthSplitting && parallel::thread_count() == 1;
  if (worth_it && batch.count() < kFirst && squares_ == nullptr) {
    sum_in_order(batch, grads);
  } else {
    batch.for_each_part([&](std::size_t part) { sum_part(batch, part, grads); });
  }
}

void Sums::sum_part(const Batch& batch, std::size_t part, const float* grads) noexcept {
  const std::size_t begin = batch.begin(part);
  float* const to = of(part, 0);
  sum_rows(to, batch.numbers() + begin, grads, batch.positions() + begin, batch.ids(part), dim_);
  if (!all_finite(to, batch.distinct(part) * dim_)) finite_ = false;
  if (squares_ != nullptr) {
    sum_squares(squares_of(part, 0), batch.numbers() + begin, grads, batch.positions() + begin, batch.ids(part), dim_);
  }
}

// The same for wide rows on one thread, in the order of the ids: part by part, it would come back to each page of the
// gradients for every part. Several threads would each have to skip the rows of others, which costs what it saves.
void Sums::sum_in_order(const Batch& batch, const float* grads) {
  Scratch memory(Scratch::bytes_of<std::uint32_t>(batch.count()));
  auto* const numbers = memory.take<std::uint32_t>(batch.count());
  batch.for_each_part([&](std::size_t part) {
    std::uint32_t next = 0;
    for (std::size_t i = batch.begin(part); i < batch.begin(part) + batch.ids(part); ++i) {
      const std::uint32_t number = batch.numbers()[i];
      numbers[batch.positions()[i]] = (begins_[part] + number) | (number == next ? kFirst : 0U);
      next += number == next ? 1 : 0;
    }
  });
  sum_all(numbers, batch.count(), grads, dim_, sums_);
  if (!all_finite(sums_, floats_)) finite_ = false;
}

}  // namespace recmigrate
