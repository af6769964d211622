// Batches that were de-duplicated before their lookup, by an input pipeline that knows ids earlier. They belong to no
// table: nothing is searched, inserted or counted ahead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "store/lookup/batch.h"

namespace recmigrate::prepared {

// Number of batches to keep, with about 36 bytes per id; older ones are dropped.
inline constexpr std::size_t kMostBatches = 64;
inline constexpr std::size_t kMostIds = std::size_t{1} << 22;

// De-duplicates the ids and keeps the batch for the next lookup of exactly these ids. Throws std::bad_alloc.
void prepare(const std::int64_t* ids, std::size_t count);

// The distinct keys of some ids, taken from a kept batch of exactly these ids if there is one; grouped by shard. Throws
// std::bad_alloc.
[[nodiscard]] std::vector<std::int64_t> distinct(const std::int64_t* ids, std::size_t count);

// Removes and returns the oldest batch of exactly these ids.
[[nodiscard]] std::optional<Batch> take(const std::int64_t* ids, std::size_t count);

}  // namespace recmigrate::prepared
