// What a table is made with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/tiers/lower_tier.h"

namespace recmigrate {

// Where rows may lie, from the first tier to the last.
struct TierConfig {
  Medium medium = Medium::memory;
  std::uint64_t bytes = 0;  // that it may take; 0 is no limit
};

struct TableConfig {
  std::string name;
  std::int64_t dim = 0;   // floats per row, > 0
  std::int64_t seed = 0;  // of the initial rows
  std::string initializer;
  std::int64_t reserve = 0;    // rows to expect; a hint
  std::int64_t max_bytes = 0;  // of rows, counters of keys and index; 0 is no limit
  bool evicts = false;         // rows when that is reached, those not used for longest, instead of refusing new ones
  bool expansion = false;      // rows have addresses: a cell per row keeps its generation
  std::vector<std::int64_t> padding_keys;  // whose rows no update changes
  std::vector<TierConfig> tiers;           // none: all rows in memory; the first one is memory
  std::string tier_folder;                 // of those that are not
  bool tier_by_uses = true;                // the rows used least go down first, of those the ones not used for longest
  std::string tier_library;                // LevelDB's, where the system has none
  std::int64_t tier_segment = 1 << 20;     // bytes that are written to a medium at once
  bool tier_counts_values = false;  // only value and slots, each rounded up to 16 bytes, count as bytes of a tier

  // Takes over `name=value;…`. Throws InvalidInput that names the table, the option and the ones known.
  void parse_options(const std::string& text);
  // Throws InvalidInput that names the table and the field that does not fit the others.
  void check() const;

  [[nodiscard]] bool limited() const noexcept { return max_bytes != 0; }
  [[nodiscard]] bool tiered() const noexcept { return !tiers.empty(); }
  // Whether rows are to tell when they were used last.
  [[nodiscard]] bool stamps() const noexcept { return evicts || tiered(); }

 private:
  void check_tiers() const;
};

}  // namespace recmigrate
