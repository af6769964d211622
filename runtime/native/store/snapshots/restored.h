// Rows to restore, with the counters in their metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "store/snapshots/table_meta.h"

namespace recmigrate {

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
