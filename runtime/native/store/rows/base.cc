#include "store/rows/base.h"

#include <algorithm>

#include "store/errors.h"

namespace recmigrate {

void Base::reserve_for(const std::int64_t* keys, std::size_t count, const std::string& owner) {
  if (count == 0) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (keys[i] - kBaseKeys < buckets_.rows()) continue;
    fail_invalid("the rows to restore have one for bucket " + std::to_string(keys[i] - kBaseKeys) + ", and " + owner +
                 " has " + std::to_string(buckets_.rows()) +
                 " buckets: create it with the base_buckets that were saved");
  }
  if (!has_.empty()) return;
  const auto buckets = static_cast<std::size_t>(buckets_.rows());
  std::vector<float> rows(buckets * stride_);
  has_.resize(buckets);
  rows_ = std::move(rows);
}

float* Base::put(std::int64_t key) noexcept {
  const auto at = static_cast<std::size_t>(key - kBaseKeys);
  float* const row = &rows_[at * stride_];
  if (has_[at] == 0) {
    has_[at] = 1;
    ++count_;
  }
  return row;
}

std::size_t Base::erase(const std::int64_t* keys, std::size_t count) noexcept {
  const std::size_t before = count_;
  for (std::size_t i = 0; i < count && !has_.empty(); ++i) {
    if (!is_base_key(keys[i]) || keys[i] - kBaseKeys >= buckets_.rows()) continue;
    const auto at = static_cast<std::size_t>(keys[i] - kBaseKeys);
    count_ -= has_[at];
    has_[at] = 0;
    std::fill_n(&rows_[at * stride_], stride_, 0.0F);
  }
  if (count_ == 0 && before != 0) *this = Base(buckets_, stride_);
  return before - count_;
}

}  // namespace recmigrate
