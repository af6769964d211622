// The norms of all rows of a table, which the value of a loss with a term over the whole table needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "store/lookup/lookups.h"
#include "store/rows/row_store.h"

namespace recmigrate {

struct RowNorms {
  double half_squares = 0;  // half the sum of the squares of all values
  double absolutes = 0;     // the sum of their absolute values
};

class Norms : private Part {
 public:
  Norms(RowStore& store, Lookups& lookups) noexcept : Part(store), lookups_(lookups) {}

  // The norms of the rows as they are now, or as they were when the last of up to `every` - 1 earlier calls computed
  // them. Keys 0 to size - 1 without a row are inserted first. The sums are added in the order of shards and places.
  [[nodiscard]] RowNorms of_all_rows(std::int64_t size, std::int64_t every);

 private:
  void complete(std::int64_t size);
  [[nodiscard]] RowNorms of_shard(std::size_t s);
  void add_block(RowNorms& norms, float* const* rows, std::size_t count, float* values) const;

  Lookups& lookups_;
  std::mutex mutex_;  // taken before any other lock
  RowNorms known_;
  std::int64_t calls_ = 0;        // since they were computed; 0 if they never were
  std::uint64_t epoch_ = 0;       // of the rows then
  std::int64_t complete_to_ = 0;  // keys below this have rows, while the epoch is the same
};

}  // namespace recmigrate
