// Tiers below memory: rows move up when a batch needs them, and least used rows move down in the background.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "store/lookup/batch.h"
#include "store/lookup/recent_batches.h"
#include "store/rows/row_store.h"
#include "store/tiers/lower_tier.h"
#include "store/tiers/sweeper.h"

namespace recmigrate {

// Contents and statistics of a tier.
struct TierStatus {
  Medium medium;
  std::uint64_t capacity;  // rows; 0 means no limit
  std::uint64_t found;     // distinct keys of batches whose row was found here
  TierUse use;
  std::uint64_t prefetched;  // of `found`, those whose row had been read ahead
  std::uint64_t unused;      // rows that were read ahead in vain, from any tier below; 0 except for memory
};

// Whoever moves rows takes `maintenance`, then `structure` if batches must not see it.
class Tiers final : private Part, private Tended {
 public:
  Tiers(RowStore& store, RecentBatches& recent);
  ~Tiers();

  // Called before a call that moves rows up to memory: waits if far too many are there, and fails, with nothing
  // changed, if rows cannot move down.
  void make_way() {
    if (tiered()) wait_for_room();
  }
  // Called before a read-only call: false if rows cannot move down, so that rows must be left where they are.
  [[nodiscard]] bool way_made();
  // Called after a call that used rows; no lock is held.
  void after_use() {
    if (tiered()) lower_if_crowded();
  }
  // The same after all rows were replaced.
  void after_replacement();

  // `structure` is held, so rows that moved up stay until the batch is done.
  void bring_up(Batch& batch, bool insert, std::uint32_t stamp);

  void tiers_of(const std::int64_t* keys, std::size_t count, std::int32_t* out) const;
  void prefetch(std::vector<std::int64_t> keys);
  [[nodiscard]] bool prefetches() const noexcept { return tiered() && sweeper::threads(sweeper::Work::prefetch) != 0; }
  void drain();
  [[nodiscard]] std::vector<TierStatus> status() const;

 private:
  class Prefetcher;
  class Needing;
  struct Below;
  struct Descent;
  struct Passing;
  // Compaction in a thread of its own.
  class Compactor final : public Tended {
   public:
    explicit Compactor(Tiers& tiers) noexcept : tiers_(tiers) {}
    void tend() noexcept override { tiers_.compact_in_background(); }

   private:
    Tiers& tiers_;
  };

  void wait_for_room();
  void lower_if_crowded();
  void tend() noexcept override;
  [[nodiscard]] std::size_t capacity_of(std::size_t tier) const noexcept;
  [[nodiscard]] std::size_t rows_held() const;
  [[nodiscard]] std::size_t most_copies() const noexcept;

  void find_below(Batch& batch, std::size_t part, std::vector<Below>& found) const;
  void take_up(Batch& batch, std::size_t part, const std::vector<Below>& found, const float* rows);

  void trim(bool all);
  void trim_tiers(bool all);
  std::size_t lower_rows(bool all);
  [[nodiscard]] std::size_t rows_too_many() const;
  std::size_t move_down(bool all);
  [[nodiscard]] std::vector<Descent> coldest(std::size_t count, std::uint64_t before) const;
  void put_below(std::size_t tier, const std::vector<Descent>& rows);

  std::size_t pass_on();
  [[nodiscard]] std::vector<Passing> coldest_below(std::size_t tier, std::size_t count) const;
  void read_passing(std::size_t tier, std::vector<Passing>& rows, std::vector<float>& values) const;

  void compact_tiers(bool scarce);
  void compact_in_background() noexcept;
  bool move_segment(std::size_t tier, bool scarce);

  RecentBatches& recent_;
  std::atomic<std::uint64_t> hits_[4] = {};        // distinct keys of batches, by the tier with their row
  std::atomic<std::uint64_t> prefetched_[4] = {};  // those of them whose rows had been read ahead
  std::unique_ptr<Prefetcher> prefetcher_;
  std::atomic<bool> storage_failed_{false};  // in the background
  Compactor compactor_{*this};
};

}  // namespace recmigrate
