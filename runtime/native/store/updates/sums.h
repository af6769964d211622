// The sums of a batch's gradients by distinct key.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "store/lookup/batch.h"
#include "store/scratch.h"

namespace recmigrate {

// For each distinct key of a batch the sum of its gradients in input order, and if wanted that of their squares. Sums
// of a part follow those of the part before it without a gap: a batch of wide rows has far fewer keys than ids, and
// memory that is not touched need not be brought into the cache, or zeroed by the system.
class Sums {
 public:
  // With the sums of squares, and with space for copies of rows, `copied` floats for each part that is updated at the
  // same time as others. Throws std::bad_alloc.
  Sums(const Batch& batch, const float* grads, std::size_t dim, bool with_squares, std::size_t copied);

  // Of the distinct keys of a part from number `i` on: the sums, and those of squares or null.
  [[nodiscard]] float* of(std::size_t part, std::size_t i) const noexcept { return sums_ + (begins_[part] + i) * dim_; }
  [[nodiscard]] float* squares_of(std::size_t part, std::size_t i) const noexcept {
    return squares_ == nullptr ? nullptr : squares_ + (begins_[part] + i) * dim_;
  }
  // Whether no sum has a NaN or an infinity.
  [[nodiscard]] bool finite() const noexcept { return finite_; }

  [[nodiscard]] std::size_t copied_floats() const noexcept { return copied_; }
  [[nodiscard]] float* copies_of(std::size_t part) const noexcept {
    return copies_ + (parts_at_once_ == 1 ? 0 : part) * copied_;
  }

 private:
  void sum_part(const Batch& batch, std::size_t part, const float* grads) noexcept;
  void sum_in_order(const Batch& batch, const float* grads);

  std::size_t dim_;
  std::size_t copied_;
  std::size_t parts_at_once_;
  std::size_t floats_;
  Scratch memory_;
  float* sums_;
  float* squares_;
  float* copies_;
  std::uint32_t begins_[kShards + 1];  // the number of keys in earlier parts
  std::atomic<bool> finite_{true};
};

}  // namespace recmigrate
