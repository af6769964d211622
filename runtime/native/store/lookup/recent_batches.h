// Recently looked-up batches, kept for their updates, which then need not search the keys again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "store/lookup/batch.h"
#include "store/rows/row_store.h"

namespace recmigrate {

// A batch that the ops of one step hand on to each other: an inserting lookup leaves it in the table with the ids as
// they were given, their distinct keys, and the row of each, so that the update of these ids searches nothing again.
struct StepBatch {
  StepBatch(const std::int64_t* keys, Batch&& keys_with_rows, std::uint64_t now);

  [[nodiscard]] bool is_for(const std::int64_t* keys, std::size_t count) const noexcept;

  std::unique_ptr<std::int64_t[]> ids;
  Batch batch;
  // The epoch of the table when the rows were searched (see `has_rows`). kNotSearched: the batch has distinct keys
  // and no rows, as no lookup has left it.
  std::uint64_t epoch;
};
using StepBatchPtr = std::unique_ptr<StepBatch>;

class RecentBatches : private Part {
 public:
  static constexpr std::uint64_t kNotSearched = ~std::uint64_t{0};   // no table has this epoch
  static constexpr std::uint64_t kNoBatch = std::uint64_t{1} << 32;  // later than any

  explicit RecentBatches(RowStore& store) noexcept : Part(store) {}

  // Whether an update is likely to ask for the batch of the next lookup: false once many have been kept and none was
  // asked for, as in a program that only reads.
  [[nodiscard]] bool wanted() const noexcept { return unasked_.load(std::memory_order_relaxed) < kGivesUp; }
  // Keeps a batch whose rows have just been found. `structure` is held.
  void remember(const std::int64_t* keys, Batch&& batch);
  // Keeps a batch for an update of its ids.
  void leave(StepBatchPtr batch);
  // Takes what a lookup of exactly these keys kept, or de-duplicates them.
  [[nodiscard]] StepBatchPtr take(const std::int64_t* keys, std::size_t count);
  // Removes and returns the lookup of exactly these keys, if it was recent and all its rows still exist. `structure` is
  // held.
  [[nodiscard]] StepBatchPtr recall(const std::int64_t* ids, std::size_t count);
  // Whether the rows that were found are still in their places. `structure` is held.
  [[nodiscard]] bool has_rows(const StepBatch& searched) const noexcept {
    return searched.epoch == store_.epoch() && (!tiered() || searched.batch.stamp() > state().lowered);
  }
  // The earliest batch whose rows are still to be updated; kNoBatch if none is known. `structure` is held.
  [[nodiscard]] std::uint64_t awaited() noexcept;
  void clear() noexcept;

 private:
  static constexpr std::uint32_t kGivesUp = 32;

  [[nodiscard]] StepBatchPtr take_exactly(const std::int64_t* ids, std::size_t count);

  std::mutex mutex_;  // guards the following; always the last lock taken
  std::vector<StepBatchPtr> recent_;
  std::size_t recent_ids_ = 0;             // of all of them, which lie apart in memory
  std::atomic<std::uint32_t> unasked_{0};  // batches kept since one was last asked for; read without the lock
};

}  // namespace recmigrate
