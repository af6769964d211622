// Data of admission and eviction about a table's keys, in lookups and in checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "store/admission/admission.h"
#include "store/admission/bloom.h"
#include "store/rows/rows.h"

namespace recmigrate {

inline constexpr std::int64_t kNever = -1;
inline constexpr std::int64_t kLatestTime = 0xfffffffe;  // a cell stores a time plus one

// Cells of a row in a table that counts. They are neighbours, in this order.
inline constexpr unsigned kSeenCells = RowLayout::bit(Cell::count) | RowLayout::bit(Cell::last_seen);

// How a look-up counts its keys.
struct Admission {
  std::int64_t threshold = 0;    // count a key needs; 0 admits all keys without counting
  std::int64_t coefficient = 1;  // count of one occurrence
  double probability = 1.0;      // with which each count admits a key that the threshold would admit
  std::int64_t now = kNever;     // seconds, steps or another clock of the table
  BloomConfig bloom;             // with max_elements 0: exact counters
  bool frozen = false;           // counting is stopped
};

struct SeenKeys {
  bool tracked = false;  // otherwise the other fields have no meaning
  std::int64_t newest = kNever;
  std::vector<std::int64_t> keys;
  std::vector<Sighting> sightings;  // of the keys
  std::int64_t threshold = -1;      // the threshold that replaced those of lookups; -1: none
  bool frozen = false;              // counting is stopped
  BloomConfig bloom;
  std::vector<std::uint8_t> counters;  // of the filters of all shards, concatenated
  RowLayout layout;                    // of the rows that a snapshot writes

  // Adds rows by the cells that a snapshot wrote, [count, layout.cells()].
  void add_rows(const std::int64_t* row_keys, const std::uint32_t* cells, std::size_t count);

  // Adds what another part of the table has seen, whose keys are others. Of filters with equal settings the largest
  // counters count, so that no key is counted too low; of other settings, and of two thresholds, these here.
  void join(const SeenKeys& other);
  // Leaves out the keys whose remainder by `parts` is another one than `part`.
  void keep_part(std::int64_t part, std::int64_t parts);

  // [mark, newest, n, n keys, n times count and last_seen, elements, bits of the rate, counter bits, bytes, counters …,
  // and if they differ from their defaults: threshold, frozen]
  void append_to(std::vector<std::int64_t>& meta) const;
  // Parses what `append_to` wrote. Throws InvalidInput that begins with `prefix`.
  void read(const std::int64_t* meta, std::size_t count, const std::string& prefix);
};

}  // namespace recmigrate
