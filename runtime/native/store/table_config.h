// The configuration of a table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/rows/buckets.h"
#include "store/rows/value_type.h"
#include "store/tiers/lower_tier.h"

namespace recmigrate {

// Storage tiers for rows, from the first to the last.
struct TierConfig {
  Medium medium = Medium::memory;
  std::uint64_t bytes = 0;  // limit; 0 means none
};

struct TableConfig {
  std::string name;
  std::int64_t dim = 0;   // floats per row, > 0
  std::int64_t seed = 0;  // of the initial rows
  std::string initializer;
  ValueType values = ValueType::float32;  // as which rows are stored
  Buckets buckets;                        // of the base whose rows new ones begin as
  std::int64_t reserve = 0;               // expected number of rows; a hint
  std::int64_t max_bytes = 0;             // for rows, counters of keys and index; 0 means no limit
  bool evicts = false;     // at the limit, evict the least recently used rows instead of refusing new ones
  bool expansion = false;  // rows have addresses: a cell per row keeps its generation
  std::vector<std::int64_t> padding_keys;  // whose rows are never updated
  std::vector<TierConfig> tiers;           // empty: all rows in memory; the first one is memory
  std::string tier_folder;                 // directory of the tiers below memory
  bool tier_by_uses = true;             // the rows used least move down first, and among them the least recently used
  std::string tier_library;             // LevelDB's, if the system has none
  std::int64_t tier_segment = 1 << 20;  // bytes to write to a medium at once
  bool tier_counts_values = false;      // only value and slots, each rounded up to 16 bytes, count as bytes of a tier

  std::int64_t device_rows = 0;   // number of rows that lie on a device; 0 means none
  bool device_by_uses = true;     // the rows used least leave it first, and among them the least recently used
  std::int64_t device_steps = 1;  // whose rows stay there, the current one among them

  // Parses `name=value;…`. Throws InvalidInput that names the table, the option and the known options.
  void parse_options(const std::string& text);
  // Throws InvalidInput that names the table and the field that does not fit the others.
  void check() const;

  [[nodiscard]] bool limited() const noexcept { return max_bytes != 0; }
  [[nodiscard]] bool tiered() const noexcept { return !tiers.empty(); }
  // Whether rows record when they were last used.
  [[nodiscard]] bool stamps() const noexcept { return evicts || tiered(); }

 private:
  void check_buckets() const;
  void check_device() const;
  void check_tiers() const;
};

}  // namespace recmigrate
