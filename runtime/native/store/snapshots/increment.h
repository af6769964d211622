// The changes between two snapshots of a table, of which only a fingerprint per row is known of the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace recmigrate {

// Rows of a snapshot: keys [count], values [count, dim], slots [count, width].
struct SnapshotRows {
  const std::int64_t* keys;
  const float* values;
  const float* slots;
  std::size_t count;
  std::size_t dim;
  std::size_t width;
};

// out[count] = a 64-bit hash of each row's contents: rows that differ in a single place always have different hashes.
void fingerprint_rows(const SnapshotRows& rows, std::int64_t* out);

struct Changes {
  std::vector<std::int64_t> changed;  // positions of new or changed rows, ascending
  std::vector<std::int64_t> removed;  // removed keys, in their former order
};

// Compares keys and fingerprints; keys of one snapshot are distinct. Throws LimitReached beyond 2^32 - 2 rows.
[[nodiscard]] Changes find_changes(const std::int64_t* before_keys, const std::int64_t* before,
                                   std::size_t before_count, const std::int64_t* keys, const std::int64_t* now,
                                   std::size_t count);

}  // namespace recmigrate
