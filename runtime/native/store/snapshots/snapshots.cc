#include "store/snapshots/snapshots.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "store/errors.h"
#include "store/hash.h"
#include "store/notices.h"
#include "store/parallel.h"
#include "store/rows/row.h"
#include "store/snapshots/restored.h"

namespace recmigrate {
namespace {

// Rows copied while a shard's lock is held once, so that updates wait for at most some microseconds.
constexpr std::size_t kSnapshotBlock = 512;

}  // namespace

TableMeta Snapshots::meta() const {
  TableMeta result{state().seed,
                   static_cast<std::int64_t>(dim_),
                   state().kind,
                   state().starts,
                   {},
                   state().left * (state().steps ? state().steps->shrinkage() : 1.0),
                   {},
                   config_.values,
                   state().updates,
                   config_.buckets};
  if (state().steps) result.steps = state().steps->saved();
  admission_.add_seen(result.seen);
  return result;
}

// Freezes the current rows; the shards' positions in the snapshot are written to `begins`.
void Snapshots::begin_snapshot(std::vector<std::size_t>& begins) const {
  parallel::run(kShards, [&](std::size_t s) {
    Shard& shard = *state().shards[s];
    begins[s + 1] = shard.capture.freeze(shard.used, shard.free, shard.rows, shard.dense.words());
  });
  for (std::size_t s = 0; s < kShards; ++s) begins[s + 1] += begins[s];
}

// Copies the rows that no update has copied yet. No row is removed meanwhile, because that needs `maintenance`.
void Snapshots::write_snapshot() const noexcept {
  parallel::run(kShards, [&](std::size_t s) {
    Shard& shard = *state().shards[s];
    for (std::size_t begin = 0; begin < shard.capture.places(); begin += kSnapshotBlock) {
      const ReadLock lock(shard.mutex);
      const std::size_t end = std::min(begin + kSnapshotBlock, shard.capture.places());
      shard.capture.for_each_left(begin, end, [&shard](Slot slot) { shard.capture.save(slot, shard.row(slot)); });
    }
    const WriteLock lock(shard.mutex);
    shard.for_each([&shard](std::int64_t key, Slot slot) { shard.capture.save_key(slot, key); });
    shard.capture.stop();
  });
}

void Snapshots::require_fit(const TableMeta& meta, std::size_t count) const {
  if (meta.dim != static_cast<std::int64_t>(dim_)) {
    fail_invalid("rows for table '" + name() + "' are " + std::to_string(meta.dim) + " wide; the table's dim is " +
                 std::to_string(dim_));
  }
  if (meta.buckets == 0 || meta.buckets == config_.buckets) return;
  if (count == 0) return;
  fail_invalid("the rows to restore were saved with " + meta.buckets.text() + ", and table '" + name() + "' has " +
               (config_.buckets == 0 ? "no base_buckets" : config_.buckets.text()) +
               ", so ids would begin as rows of others: create it as it was saved");
}

void Snapshots::import_rows(const TableMeta& meta, const std::int64_t* keys, std::size_t count, const float* values,
                            const float* slots) {
  if (are_rows_of_buckets(meta, keys, count)) {
    const Divided rows(meta, keys, count, config_.buckets);
    return import_rows(rows.meta, rows.keys.data(), count, values, slots);
  }
  require_fit(meta, count);
  admission_.require_counters(meta.seen);
  const std::size_t width = slot_count(meta.kind) * dim_;
  const Apart apart({keys, count, values, slots}, dim_, width, config_.buckets != 0);
  const RowsView& own = apart.own();
  auto fresh = filled(meta, own.keys, own.count, own.values, own.slots);
  put_base(*fresh, apart.base());
  if (fresh->base.count() != apart.base().count) {
    fail_invalid("rows for table '" + name() + "' hold the row of a bucket twice");
  }
  if (meta.buckets == 0) note_division(apart);
  const std::size_t total = bytes_of(*fresh);
  std::size_t gone = 0;
  if (limited() && total > static_cast<std::size_t>(config_.max_bytes)) {
    if (!config_.evicts) limit_.refuse(total, " for the rows to restore; raise it");
    fresh = fitted(std::move(fresh), {meta,
                                      {own.keys, own.keys + own.count},
                                      {own.values, own.values + own.count * dim_},
                                      {own.slots, own.slots + own.count * width}});
    gone = own.count;
    for (const auto& shard : fresh->shards) gone -= shard->size();
    notices::post("table '" + name() + "' was restored without " + std::to_string(gone) + " of " +
                  std::to_string(own.count) + " rows, to stay within its max_bytes");
  }
  {
    const Maintenance maintenance(store_.maintenance());
    const WriteLock lock(store_.structure());
    fresh = store_.replace(std::move(fresh));
    store_.add_evicted(gone);
  }
  tiers_.after_replacement();
}

void Snapshots::merge(const TableMeta& meta, const std::int64_t* keys, std::size_t count, const float* values,
                      const float* slots) {
  if (are_rows_of_buckets(meta, keys, count)) {
    const Divided rows(meta, keys, count, config_.buckets);
    return merge(rows.meta, rows.keys.data(), count, values, slots);
  }
  require_fit(meta, count);
  admission_.require_counters(meta.seen);
  const bool trained = meta.kind != OptimizerKind::none;
  const Apart apart({keys, count, values, trained ? slots : nullptr}, dim_, slot_count(meta.kind) * dim_,
                    config_.buckets != 0);
  const RowsView& own = apart.own();
  MemoryLimit::with_room([&] {
    const Maintenance maintenance(store_.maintenance());
    const WriteLock lock(store_.structure());
    const Recount recount(store_);
    make_room_for_base(apart, trained ? store_.layout(meta.kind, is_deferred(meta.kind)) : state().layout);
    if (trained && state().kind != meta.kind) updates_.adopt(meta.kind, meta.starts, nullptr, own.keys, own.count);
    if (trained) state().training.optimizers.clear();
    state().updates = std::max(state().updates.load(), meta.updates);
    if (trained && !meta.steps.empty()) updates_.follow(meta.replayed());
    if (own.count >= kWorthSplitting) store_.spread();
    if (meta.seen.tracked) admission_.track(meta.seen.bloom);
    const std::size_t width = trained ? state().layout.slot_width() : 0;
    put_base(state(), apart.base());
    store_.write_rows(lookups_.resolve(own.keys, own.count), [&](float* row, std::size_t from) {
      state().layout.write_value(row, own.values + from * dim_);
      if (width != 0) std::memcpy(row + state().layout.slots_at(), own.slots + from * width, width * sizeof(float));
    });
    if (!meta.seen.tracked) return;
    for (const auto& shard : state().shards) shard->sightings = Sightings();
    admission_.restore_seen(state(), meta.seen);
  });
}

void Snapshots::upsert(const std::int64_t* keys, std::size_t count, const float* values) {
  const Apart apart({keys, count, values, nullptr}, dim_, 0, config_.buckets != 0);
  const RowsView& own = apart.own();
  if (apart.base().count != 0) {
    const Maintenance maintenance(store_.maintenance());
    const WriteLock lock(store_.structure());
    const Recount recount(store_);
    make_room_for_base(apart, state().layout);
    put_base(state(), apart.base());
  }
  store_.expect(own.count);
  tiers_.make_way();
  MemoryLimit::with_room([&] {
    const ReadLock lock(store_.structure());
    store_.write_rows(lookups_.resolve(own.keys, own.count),
                      [&](float* row, std::size_t from) { state().layout.write_value(row, own.values + from * dim_); });
  });
  tiers_.after_use();
}

void Snapshots::reset() {
  const Maintenance maintenance(store_.maintenance());
  auto fresh = store_.make_state(store_.layout(OptimizerKind::none, false), config_.seed);
  {
    const WriteLock lock(store_.structure());
    fresh = store_.replace(std::move(fresh));
  }
  recent_.clear();
}

}  // namespace recmigrate
