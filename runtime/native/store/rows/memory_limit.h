// The memory of a table: what counts towards its limit, and which rows are evicted when it is full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "store/admission/bloom.h"
#include "store/lookup/batch.h"
#include "store/rows/row_store.h"

namespace recmigrate {

// What a batch will add to the shards.
struct Demand {
  std::size_t rows[kShards] = {};
  std::size_t bytes[kShards] = {};  // for rows and counters

  void set(const Shard& shard, std::size_t part, std::size_t more_rows, std::size_t counters,
           const RowLayout& layout) noexcept;
};

class MemoryLimit : private Part {
 public:
  explicit MemoryLimit(RowStore& store) noexcept : Part(store) {}

  // Calls body() again after evicting rows for it, in whichever table was full. No lock is held.
  template <typename Body>
  static void with_room(const Body& body) {
    for (;;) {
      try {
        return body();
      } catch (const Full& full) {
        full.limit->make_room(full);
      }
    }
  }

  [[noreturn]] void refuse(std::size_t bytes, const std::string& remedy) const;

  // The following is called under `structure`.

  // Inserts the keys of a batch that have no row: all of them or none.
  void insert_within_limit(Batch& batch, std::uint32_t stamp);
  // With a limit, one batch at a time is inserted, because two could use the same space; taken after `steps`.
  [[nodiscard]] std::unique_lock<std::mutex> filling() {
    return limited() ? std::unique_lock(filling_) : std::unique_lock<std::mutex>();
  }
  [[nodiscard]] bool has_room_to_count(const Shard& shard, std::size_t more) const noexcept;
  // Refuses a row layout, and filters, that would exceed the limit; a base that comes with it takes `base` bytes.
  void require_room(const RowLayout& after, const BloomConfig& bloom, std::size_t base = 0) const;

  // The caller holds `maintenance`, and `structure` for writing.
  void make_room_for(const RowLayout& after, const std::int64_t* keys, std::size_t count, std::size_t base = 0);
  std::size_t evict(const std::vector<std::vector<std::int64_t>>& keys);  // by shard; returns the number of rows

  // Updates the totals with what is about to be added, however a call ends.
  class Booking {
   public:
    // Throws Full or LimitReached.
    Booking(MemoryLimit& limit, const Demand& demand, std::uint32_t stamp);
    ~Booking() { store_.booked_bytes() -= bytes_; }
    Booking(const Booking&) = delete;
    Booking& operator=(const Booking&) = delete;

   private:
    RowStore& store_;
    std::size_t bytes_ = 0;
  };

 private:
  // Thrown when rows must be evicted for a batch whose own rows were stamped. Nothing was changed.
  struct Full {
    MemoryLimit* limit;
    Demand demand;
    std::uint32_t stamp;
  };
  // The order of eviction.
  struct Candidate {
    std::uint32_t used;
    std::uint32_t last_seen;
    std::int64_t key;
    std::size_t shard;
  };

  // Whether places that rows leave stay with their shard, or are filled by its other rows.
  enum class Places { kept, filled };
  // The keys to evict, by shard, and the table's bytes with the batch then.
  struct Choice {
    std::vector<std::vector<std::int64_t>> keys{kShards};
    std::size_t bytes = 0;
  };

  void make_room(const Full& full);
  [[nodiscard]] std::size_t bytes_with(const RowLayout& after, const BloomConfig& bloom) const noexcept;
  [[nodiscard]] std::vector<Candidate> oldest(std::uint32_t own, std::size_t least) const;
  [[nodiscard]] std::size_t need_of(std::size_t s, const Demand& demand, std::size_t evicted,
                                    Places places) const noexcept;
  [[nodiscard]] Choice choose(const std::vector<Candidate>& candidates, std::size_t least, std::size_t limit,
                              const Demand& demand, Places places) const;
  void compact();

  std::mutex filling_;
};

}  // namespace recmigrate
