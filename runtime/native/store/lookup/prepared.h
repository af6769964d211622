// Batches that were de-duplicated before their look-up, by an input pipeline that knew their ids first. They belong to
// no table: nothing is looked for, inserted or counted ahead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "store/lookup/batch.h"

namespace recmigrate::prepared {

// Batches kept and their ids, some 36 bytes each; the oldest are forgotten for newer ones.
inline constexpr std::size_t kMostBatches = 64;
inline constexpr std::size_t kMostIds = std::size_t{1} << 22;

// De-duplicates the ids and keeps the batch for the next look-up of exactly these. Throws std::bad_alloc.
void prepare(const std::int64_t* ids, std::size_t count);

// The distinct keys of some ids, of a batch that is kept if there is one of exactly these; those of a shard one after
// the other. Throws std::bad_alloc.
[[nodiscard]] std::vector<std::int64_t> distinct(const std::int64_t* ids, std::size_t count);

// The oldest batch of exactly these ids, which is forgotten then.
[[nodiscard]] std::optional<Batch> take(const std::int64_t* ids, std::size_t count);

}  // namespace recmigrate::prepared
