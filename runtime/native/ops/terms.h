// Terms over a whole table as part of its gradient: rows with keys that no lookup has, which only updates read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "store/table.h"
#include "store/updates/optimizer.h"

namespace recmigrate::ops {

// The gradient of a batch without the rows of terms, whose factors are in `term`.
struct Gradient {
  const std::int64_t* keys;
  std::size_t count;
  const float* grads;
  WholeTable term;

 private:
  friend Gradient without_terms(const Table&, const std::int64_t*, std::size_t, const float*);
  std::vector<std::int64_t> kept_keys_;  // if rows of terms lie between others
  std::vector<float> kept_grads_;
};

// Throws InvalidInput if the rows of a term are not a multiple of what its gradient op made.
[[nodiscard]] Gradient without_terms(const Table& table, const std::int64_t* keys, std::size_t count,
                                     const float* grads);

}  // namespace recmigrate::ops
