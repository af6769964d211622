// Rows in chunks that never move: a row is value[dim] followed by slots[slot_count * dim], contiguous.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "store/index.h"

namespace recmigrate {

class Slab {
 public:
  // `dim` floats of value and `slot_count` optimizer slots of the same width per row; `dim` > 0.
  Slab(std::size_t dim, std::size_t slot_count);

  [[nodiscard]] std::size_t dim() const noexcept { return dim_; }
  [[nodiscard]] std::size_t slot_width() const noexcept { return stride_ - dim_; }

  // Makes room for `rows` rows in all, of undefined content. On std::bad_alloc every existing row is as before.
  void reserve(std::size_t rows);

  [[nodiscard]] float* row(Slot slot) noexcept { return chunks_[slot >> shift_].get() + (slot & mask_) * stride_; }
  [[nodiscard]] const float* row(Slot slot) const noexcept {
    return chunks_[slot >> shift_].get() + (slot & mask_) * stride_;
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* chunk) const noexcept { ::operator delete[](chunk, kAlignment); }
  };

  std::size_t dim_;
  std::size_t stride_;
  unsigned shift_;  // a chunk holds 2^shift_ rows
  std::size_t mask_;
  std::vector<std::unique_ptr<float, Free>> chunks_;
};

}  // namespace recmigrate
