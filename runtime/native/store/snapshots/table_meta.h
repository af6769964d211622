// The metadata of a snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "store/admission/seen.h"
#include "store/rows/buckets.h"
#include "store/rows/value_type.h"
#include "store/updates/optimizer.h"
#include "store/updates/steps.h"

namespace recmigrate {

// `to_vector` and `from_vector` give the int64 tensor of a checkpoint.
struct TableMeta {
  static constexpr std::int64_t kVersion = 2;
  static constexpr std::int64_t kDecayed = 3;  // has `left`, whatever the rule: an earlier rule had decayed the weights
  static constexpr std::int64_t kReplayed = 4;  // has `left` and `steps`
  static constexpr std::int64_t kNarrow = 5;    // has these and, before them, the type of values and `updates`
  static constexpr std::int64_t kDivided = 6;   // has these and, before them, `buckets`

  std::int64_t seed = 0;
  std::int64_t dim = 0;
  OptimizerKind kind = OptimizerKind::none;
  SlotStarts starts{};  // of rows to be inserted
  SeenKeys seen;        // those without a row, and in a checkpoint also those with one
  double left = 1;      // share of the initial value of a new row, after the weight decay of all rows so far
  std::vector<std::int64_t> steps{};      // what Steps::saved gave, for new rows; empty if they need none
  ValueType values = ValueType::float32;  // of the table that was saved; rows can be restored as any
  std::uint64_t updates = 0;              // that rounded values
  Buckets buckets{};                      // of the table that was saved; 0: it had none, or an older format

  // [version, seed, dim, slots per row, optimizer kind, bits of each slot's start …, with weight decay of all rows or
  // in version 3 the bits of `left`, in version 4 these and the number of entries of `steps` and the entries, in
  // version 5 what is in version 4, but first the number of the type of values and `updates`, in version 6 what is in
  // version 5, but first the three numbers of `buckets`, what SeenKeys appends]
  [[nodiscard]] std::vector<std::int64_t> to_vector() const;
  // Also parses version 1. Throws InvalidInput that names `owner` and the entry.
  [[nodiscard]] static TableMeta from_vector(const std::int64_t* meta, std::size_t count, const std::string& owner);
  // The log of `steps`, which there must be. Throws InvalidInput if it is damaged.
  [[nodiscard]] std::unique_ptr<Steps> replayed() const;
};

}  // namespace recmigrate
