// Operations on a whole table: snapshot, import, increments, upsert and reset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "store/admission/admission_control.h"
#include "store/lookup/lookups.h"
#include "store/lookup/recent_batches.h"
#include "store/rows/memory_limit.h"
#include "store/rows/row_store.h"
#include "store/snapshots/capture.h"
#include "store/snapshots/table_meta.h"
#include "store/tiers/tiers.h"
#include "store/updates/updates.h"

namespace recmigrate {

class Apart;
struct Restored;
struct RowsView;

class Snapshots : private Part {
 public:
  Snapshots(RowStore& store, RecentBatches& recent, MemoryLimit& limit, Tiers& tiers, Lookups& lookups,
            AdmissionControl& admission, Updates& updates) noexcept
      : Part(store),
        recent_(recent),
        limit_(limit),
        tiers_(tiers),
        lookups_(lookups),
        admission_(admission),
        updates_(updates) {}

  template <typename Sink>
  void snapshot(Sink&& sink, bool with_base) const;
  void import_rows(const TableMeta& meta, const std::int64_t* keys, std::size_t count, const float* values,
                   const float* slots);
  void merge(const TableMeta& meta, const std::int64_t* keys, std::size_t count, const float* values,
             const float* slots);
  void upsert(const std::int64_t* keys, std::size_t count, const float* values);
  void reset();

 private:
  [[nodiscard]] TableMeta meta() const;
  void begin_snapshot(std::vector<std::size_t>& begins) const;
  void write_snapshot() const noexcept;
  // Throws InvalidInput for rows of another width, or whose ids were divided into buckets in another way.
  void require_fit(const TableMeta& meta, std::size_t count) const;
  [[nodiscard]] std::unique_ptr<State> filled(const TableMeta& meta, const std::int64_t* keys, std::size_t count,
                                              const float* values, const float* slots) const;
  // Writes the rows of buckets to the base of a state of this table. Without `slots`, slots are kept, or start as those
  // of new rows.
  [[nodiscard]] bool are_rows_of_buckets(const TableMeta& meta, const std::int64_t* keys, std::size_t count) const;
  void make_room_for_base(const Apart& rows, RowLayout after);
  void put_base(State& to, const RowsView& rows) const;
  // Posts a notice if rows whose metadata does not say how ids were divided may be those of another division.
  void note_division(const Apart& rows) const;
  [[nodiscard]] std::unique_ptr<State> fitted(std::unique_ptr<State> whole, const Restored& rows) const;

  RecentBatches& recent_;
  MemoryLimit& limit_;
  Tiers& tiers_;
  Lookups& lookups_;
  AdmissionControl& admission_;
  Updates& updates_;
};

template <typename Sink>
void Snapshots::snapshot(Sink&& sink, bool with_base) const {
  const Maintenance maintenance(store_.maintenance());
  FrozenBelow below;
  Destination to;
  std::size_t above = 0;
  std::shared_ptr<const Steps> steps;
  {
    const WriteLock lock(store_.structure());
    std::vector<std::size_t> begins(kShards + 1);
    begin_snapshot(begins);
    below = freeze_below(state());
    to = sink(meta(), begins[kShards] + below.count() + (with_base ? state().base.count() : 0));
    steps = state().steps ? state().steps->clone() : nullptr;
    above = begins[kShards];
    for (std::size_t s = 0; s < kShards; ++s) state().shards[s]->capture.start(state().layout, to, begins[s], steps);
  }
  write_snapshot();
  write_below(state(), below, to, above, steps);
  if (!with_base) return;
  std::size_t at = above + below.count();
  // The base does not change either, as that needs `maintenance`, too.
  state().base.for_each([&](const float* row, std::int64_t bucket) {
    to.keys[at] = kBaseKeys + bucket;
    write_row(state().layout, to, at++, row, steps.get());
  });
}

}  // namespace recmigrate
