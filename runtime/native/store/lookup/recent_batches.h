// Batches that were looked up lately, for their updates: their keys are not looked for again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "store/lookup/batch.h"
#include "store/rows/row_store.h"

namespace recmigrate {

// What a look-up that inserts leaves with the table for what follows of its step: its ids, and their distinct keys
// with their rows.
struct Found {
  Found(const std::int64_t* keys, Batch keys_with_rows, std::uint64_t now);

  [[nodiscard]] bool is_for(const std::int64_t* keys, std::size_t count) const noexcept;

  std::unique_ptr<std::int64_t[]> ids;
  Batch batch;
  std::uint64_t epoch;  // of the table then (see `has_rows`); kNoRows: they were not looked for
};
using FoundPtr = std::unique_ptr<Found>;

class RecentBatches : private Part {
 public:
  static constexpr std::uint64_t kNoRows = ~std::uint64_t{0};
  static constexpr std::uint64_t kNoBatch = std::uint64_t{1} << 32;  // later than any

  explicit RecentBatches(RowStore& store) noexcept : Part(store) {}

  // Leaves a batch whose rows were found now. `structure` is held.
  void remember(const std::int64_t* keys, Batch batch);
  // Leaves it for an update of its ids.
  void leave(FoundPtr found);
  // Takes what a look-up of exactly these keys left, or de-duplicates them.
  [[nodiscard]] FoundPtr take(const std::int64_t* keys, std::size_t count);
  // The look-up of exactly these keys, if it was lately and all its rows are still there; it is forgotten then.
  // `structure` is held.
  [[nodiscard]] FoundPtr recall(const std::int64_t* ids, std::size_t count);
  // Whether the rows of what was found are still where they were. `structure` is held.
  [[nodiscard]] bool has_rows(const Found& found) const noexcept {
    return found.epoch == store_.epoch() && (!tiered() || found.batch.stamp() > state().lowered);
  }
  // Rows that this batch or a later one used are about to be updated; kNoBatch when none is known of. `structure` is
  // held.
  [[nodiscard]] std::uint64_t awaited() noexcept;
  void clear() noexcept;

 private:
  [[nodiscard]] FoundPtr take_exactly(const std::int64_t* ids, std::size_t count);

  std::mutex mutex_;  // guards what follows; the last lock that is taken
  std::vector<FoundPtr> recent_;
};

}  // namespace recmigrate
