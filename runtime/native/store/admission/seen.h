// What admission and eviction know of a table's keys, as a look-up says it and as a checkpoint keeps it.
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
inline constexpr std::int64_t kLatestTime = 0xfffffffe;  // a cell keeps a time plus one

// Of a row in a table that counts. They are neighbours, in this order.
inline constexpr unsigned kSeenCells = RowLayout::bit(Cell::count) | RowLayout::bit(Cell::last_seen);

// How a look-up counts its keys.
struct Admission {
  std::int64_t threshold = 0;    // a key must be seen so often; 0 admits all and counts none
  std::int64_t coefficient = 1;  // what one occurrence counts
  std::int64_t now = kNever;     // seconds, steps or whatever is the table's clock
  BloomConfig bloom;             // with max_elements 0: exact counters
  bool frozen = false;           // counts stay as they are
};

struct SeenKeys {
  bool tracked = false;  // nothing else means anything otherwise
  std::int64_t newest = kNever;
  std::vector<std::int64_t> keys;
  std::vector<Sighting> sightings;  // of the keys
  std::int64_t threshold = -1;      // that replaced those of look-ups; -1: none did
  bool frozen = false;              // nothing is counted
  BloomConfig bloom;
  std::vector<std::uint8_t> counters;  // of the filters of all shards, one after another
  RowLayout layout;                    // of the rows that a snapshot writes

  // Adds rows by the cells that a snapshot wrote, [count, layout.cells()].
  void add_rows(const std::int64_t* row_keys, const std::uint32_t* cells, std::size_t count);

  // [mark, newest, n, n keys, n times count and last_seen, elements, bits of the rate, counter bits, bytes, counters …,
  // and when they are not as at first: threshold, frozen]
  void append_to(std::vector<std::int64_t>& meta) const;
  // Reads what `append_to` wrote. Throws InvalidInput that begins with `prefix`.
  void read(const std::int64_t* meta, std::size_t count, const std::string& prefix);
};

}  // namespace recmigrate
