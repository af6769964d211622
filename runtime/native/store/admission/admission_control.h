// Admission and eviction: which keys get a row, and which lose it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "store/admission/admission.h"
#include "store/admission/bloom.h"
#include "store/admission/seen.h"
#include "store/lookup/batch.h"
#include "store/lookup/lookups.h"
#include "store/lookup/recent_batches.h"
#include "store/rows/memory_limit.h"
#include "store/rows/row_store.h"
#include "store/tiers/tiers.h"

namespace recmigrate {

class AdmissionControl : private Part {
 public:
  AdmissionControl(RowStore& store, RecentBatches& recent, MemoryLimit& limit, Tiers& tiers, Lookups& lookups) noexcept
      : Part(store), recent_(recent), limit_(limit), tiers_(tiers), lookups_(lookups) {}

  void lookup_and_admit(const std::int64_t* keys, std::size_t count, const Admission& admission, float* out,
                        bool* admitted);
  void lookup_admitted(const std::int64_t* keys, std::size_t count, std::int64_t threshold, float* out, bool* admitted,
                       bool in_place);
  void lookup_permitted(const std::int64_t* keys, std::size_t count, float* out, bool* permitted, bool in_place);
  void set_threshold(std::int64_t threshold);
  std::size_t evict_unseen(std::int64_t age, std::int64_t now);
  std::size_t evict_light(float least);
  void sightings(const std::int64_t* keys, std::size_t count, std::int64_t* counts, std::int64_t* times) const;
  [[nodiscard]] std::size_t waiting() const;

  // Adds cells to the rows and filters to the shards; counts of another filter are lost. The caller holds `maintenance`
  // and `structure`.
  void track(const BloomConfig& bloom);
  // What a checkpoint stores besides the cells of rows, which are part of the snapshot.
  void add_seen(SeenKeys& seen) const;
  // Throws InvalidInput for damaged counters.
  void require_counters(const SeenKeys& seen) const;
  // Loads the counters of a checkpoint that `require_counters` has accepted.
  void restore_seen(State& state, const SeenKeys& seen) const;

 private:
  struct Judged;
  void check(const Admission& admission) const;
  [[nodiscard]] Admission in_force(Admission admission) const;
  [[nodiscard]] bool tracks(const BloomConfig& bloom) const noexcept;
  template <typename Body>
  void with_counters(const BloomConfig& bloom, const Body& body);
  template <typename Right>
  void read_where(const Right& has_right, const std::int64_t* keys, std::size_t count, float* out, bool* read,
                  bool in_place);
  void count_and_admit(const std::int64_t* keys, std::size_t count, const Admission& rules, float* out, bool* admitted);
  void find_part(Batch& batch, std::size_t part) const noexcept;
  void demand_part(Batch& batch, std::size_t part, const Admission& admission, std::uint32_t stamp, Demand& demand);
  void admit_part(Batch& batch, std::size_t part, const Admission& admission, std::uint32_t seen, std::uint32_t stamp);
  [[nodiscard]] Judged judge(const Shard& shard, const Batch& batch, std::size_t part,
                             const Admission& admission) const;

  RecentBatches& recent_;
  MemoryLimit& limit_;
  Tiers& tiers_;
  Lookups& lookups_;
};

}  // namespace recmigrate
