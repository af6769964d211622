// The rows of consecutive ids, fetched in blocks ahead of their use and clipped where a lookup has a greatest norm.
#pragma once

#include <memory>

#include "ops/row_access.h"
#include "store/lookup/pooling.h"

namespace recmigrate::ops {

class RowWindow {
 public:
  // Ids from `begin` to `end`; `max_norm` may be null.
  RowWindow(const RowReader& reader, std::size_t begin, std::size_t end, const float* max_norm, std::size_t dim)
      : reader_(reader),
        filled_(begin),
        end_(end),
        max_norm_(max_norm),
        dim_(dim),
        scratch_(new float[kRing * dim]),
        clipped_(max_norm == nullptr ? nullptr : new float[kRing * dim]) {}

  // Makes the rows of ids [at, at + count) available, count <= kPiece; `at` must not go back.
  void fetch(std::size_t at, std::size_t count) {
    while (filled_ < at + count) fill_block();
  }

  // Row of an id that the last `fetch` was for.
  [[nodiscard]] const float* operator[](std::size_t id) const noexcept { return rows_[id % kRing]; }

 private:
  // Rows from before the block are still in use, so two blocks and a piece must fit.
  static constexpr std::size_t kRing = 4 * kRowBlock;
  static_assert(kRing >= 2 * kRowBlock + kPiece, "a piece of rows must outlive the fetching of the next block");

  void fill_block() {
    const std::size_t place = filled_ % kRing;
    std::size_t count = kRowBlock < end_ - filled_ ? kRowBlock : end_ - filled_;
    if (count > kRing - place) count = kRing - place;
    reader_.read(filled_, count, &scratch_[place * dim_], &rows_[place]);
    for (std::size_t i = place; max_norm_ != nullptr && i < place + count; ++i) {
      clip_row(&clipped_[i * dim_], rows_[i], *max_norm_, dim_);
      rows_[i] = &clipped_[i * dim_];
    }
    filled_ += count;
  }

  const RowReader& reader_;
  std::size_t filled_;
  const std::size_t end_;
  const float* max_norm_;
  const std::size_t dim_;
  std::unique_ptr<float[]> scratch_;
  std::unique_ptr<float[]> clipped_;
  const float* rows_[kRing];
};

}  // namespace recmigrate::ops
