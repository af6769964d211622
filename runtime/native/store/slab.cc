#include "store/slab.h"

namespace recmigrate {
namespace {

// Large enough that chunk look-ups stay in the first-level cache, small enough that a tiny table stays tiny.
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

unsigned rows_shift(std::size_t stride) {
  unsigned shift = 0;
  while ((stride * sizeof(float)) << (shift + 1) <= kChunkBytes) ++shift;
  return shift;
}

}  // namespace

Slab::Slab(std::size_t dim, std::size_t slot_count)
    : dim_(dim), stride_(dim * (1 + slot_count)), shift_(rows_shift(stride_)), mask_((std::size_t{1} << shift_) - 1) {}

void Slab::reserve(std::size_t rows) {
  const std::size_t wanted = (rows + mask_) >> shift_;
  chunks_.reserve(wanted);
  while (chunks_.size() < wanted) {
    const std::size_t bytes = (stride_ << shift_) * sizeof(float);
    chunks_.emplace_back(static_cast<float*>(::operator new[](bytes, kAlignment)));
  }
}

}  // namespace recmigrate
