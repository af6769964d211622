// The rows that new ones begin as: a table that takes the place of one with bucketed ids has a *base*, the rows of its
// buckets, and of the words of a vocabulary. A key without a row has the row of its bucket until its own first update.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "store/rows/buckets.h"

namespace recmigrate {

// In snapshots, the row of a bucket has the key kBaseKeys + bucket. No id has such a key.
inline constexpr std::int64_t kBaseKeys = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kMostBuckets = std::int64_t{1} << 32;

[[nodiscard]] inline bool is_base_key(std::int64_t key) noexcept { return key < kBaseKeys + kMostBuckets; }

class Base {
 public:
  // A table without a base has 0 buckets.
  Base(const Buckets& buckets, std::size_t stride) noexcept : buckets_(buckets), stride_(stride) {}

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  // Number of buckets that have a row.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return rows_.capacity() * sizeof(float) + has_.capacity(); }
  // What `bytes` is once there is a row.
  [[nodiscard]] static std::size_t bytes_of(const Buckets& buckets, std::size_t stride) noexcept {
    return static_cast<std::size_t>(buckets.rows()) * (stride * sizeof(float) + 1);
  }

  // The bucket of a key, or that which a base key names. There are some.
  [[nodiscard]] std::int64_t bucket(std::int64_t key) const noexcept {
    if (!is_base_key(key)) return buckets_.of(key);
    return key - kBaseKeys < buckets_.rows() ? key - kBaseKeys : buckets_.of(key - kBaseKeys);
  }
  // The row of a bucket, in the layout of the table's rows; null if it has none.
  [[nodiscard]] const float* row(std::int64_t bucket) const noexcept {
    const auto at = static_cast<std::size_t>(bucket);
    return has_[at] != 0 ? &rows_[at * stride_] : nullptr;
  }

  // Before the first `put`. Throws InvalidInput, with the owner's name, for a key that is none of a bucket, and
  // std::bad_alloc; then nothing has changed.
  void reserve_for(const std::int64_t* keys, std::size_t count, const std::string& owner);
  // The row of a base key, which the caller sets; its cells are 0 at first.
  [[nodiscard]] float* put(std::int64_t key) noexcept;

  // Deletes the rows of these base keys; returns how many there were. With the last one, their memory is freed.
  std::size_t erase(const std::int64_t* keys, std::size_t count) noexcept;

  // Calls visit(row, bucket) for each row, in order of the buckets.
  template <typename Visit>
  void for_each(const Visit& visit) {
    for (std::size_t at = 0; at < has_.size(); ++at) {
      if (has_[at] != 0) visit(&rows_[at * stride_], static_cast<std::int64_t>(at));
    }
  }
  // The rows in another layout, filled in by change(row, old).
  template <typename Change>
  [[nodiscard]] Base changed(std::size_t stride, const Change& change) const {
    Base result(buckets_, stride);
    result.has_ = has_;
    result.count_ = count_;
    result.rows_.resize(has_.size() * stride);
    for (std::size_t at = 0; at < has_.size(); ++at) {
      if (has_[at] != 0) change(&result.rows_[at * stride], &rows_[at * stride_]);
    }
    return result;
  }

 private:
  Buckets buckets_;
  std::size_t stride_;
  std::size_t count_ = 0;
  std::vector<float> rows_;        // [buckets_.rows(), stride], once there is a row
  std::vector<std::uint8_t> has_;  // a flag per bucket
};

}  // namespace recmigrate
