// Rows that are to be restored, with the counters of their meta data.
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

  // Those of these numbers, in their order here, with their counters and those of keys that have no row.
  [[nodiscard]] Restored only(std::vector<std::size_t> kept) const;

 private:
  void append_row(const std::vector<float>& from, std::size_t number, std::vector<float>& to) const;
};

}  // namespace recmigrate
