// Rows to restore, with the counters in their metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "store/snapshots/table_meta.h"

namespace recmigrate {

// Rows with keys [count], values [count, dim] and slots [count, width]; `slots` may be null.
struct RowsView {
  const std::int64_t* keys;
  std::size_t count;
  const float* values;
  const float* slots;
};

// The rows of buckets (store/rows/base.h) apart from the others; rows are copied only where there are such.
class Apart {
 public:
  Apart(const RowsView& all, std::size_t dim, std::size_t width, bool has_base);
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;

  [[nodiscard]] const RowsView& own() const noexcept { return own_; }
  [[nodiscard]] const RowsView& base() const noexcept { return base_; }

 private:
  struct Copy {
    std::vector<std::int64_t> keys;
    std::vector<float> values;
    std::vector<float> slots;
  };
  Copy copies_[2];
  RowsView own_;
  RowsView base_{};
};

// What a table without base_buckets saved, whose keys are buckets, as one with them saves it.
struct Divided {
  Divided(const TableMeta& of, const std::int64_t* buckets, std::size_t count, const Buckets& layout);

  TableMeta meta;
  std::vector<std::int64_t> keys;
};

struct Restored {
  TableMeta meta;
  std::vector<std::int64_t> keys;
  std::vector<float> values;
  std::vector<float> slots;

  // The rows with these numbers, in this order, with their counters and those of keys without a row.
  [[nodiscard]] Restored only(std::vector<std::size_t> kept) const;

 private:
  void append_row(const std::vector<float>& from, std::size_t number, std::vector<float>& to) const;
};

}  // namespace recmigrate
