// Whole-table traffic: snapshot, import, upsert, deletion and the meta data that goes with a checkpoint.
#include <algorithm>
#include <cstring>
#include <utility>

#include "store/errors.h"
#include "store/hash.h"
#include "store/parallel.h"
#include "store/row.h"
#include "store/table.h"

namespace recmigrate {
namespace {

// Rows copied under one hold of a shard's lock, so that updates wait for some microseconds at most.
constexpr Slot kSnapshotBlock = 512;

}  // namespace

std::vector<std::int64_t> TableMeta::to_vector() const {
  const bool decays = kind == OptimizerKind::keras_adamw;
  std::vector<std::int64_t> meta = {decays || left == 1.0 ? kVersion : kDecayed, seed, dim,
                                    static_cast<std::int64_t>(slot_count(kind)), static_cast<std::int64_t>(kind)};
  for (std::size_t s = 0; s < slot_count(kind); ++s) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &starts[s], sizeof bits);
    meta.push_back(bits);
  }
  if (decays || left != 1.0) {
    std::int64_t bits = 0;
    std::memcpy(&bits, &left, sizeof bits);
    meta.push_back(bits);
  }
  seen.append_to(meta);
  return meta;
}

TableMeta Table::meta() const {
  TableMeta result{state_->seed, static_cast<std::int64_t>(dim_), state_->kind, state_->starts, {},
                   state_->left * (state_->steps ? state_->steps->shrinkage() : 1.0)};
  add_seen(result.seen);
  return result;
}

// Freezes what is there; the shards' places in the snapshot go to `begins`.
void Table::begin_snapshot(std::vector<std::size_t>& begins) const {
  parallel::run(kShards, [&](std::size_t s) {
    Shard& shard = *state_->shards[s];
    begins[s + 1] = shard.capture.freeze(shard.used, shard.free, shard.rows);
  });
  for (std::size_t s = 0; s < kShards; ++s) begins[s + 1] += begins[s];
}

// Copies what no update has copied yet. No row is removed meanwhile: that would take `maintenance_`.
void Table::write_snapshot() const noexcept {
  parallel::run(kShards, [&](std::size_t s) {
    Shard& shard = *state_->shards[s];
    for (Slot begin = 0; begin < shard.capture.slots(); begin += kSnapshotBlock) {
      const ReadLock lock(shard.mutex);
      const Slot end = std::min(begin + kSnapshotBlock, shard.capture.slots());
      for (Slot slot = begin; slot < end; ++slot) shard.capture.save(slot, shard.rows.row(slot));
    }
    const WriteLock lock(shard.mutex);
    shard.index.for_each([&shard](std::int64_t key, Slot slot) { shard.capture.save_key(slot, key); });
    shard.capture.stop();
  });
}

void Table::require_dim(const TableMeta& meta) const {
  if (meta.dim == static_cast<std::int64_t>(dim_)) return;
  fail_invalid("rows for table '" + name() + "' are " + std::to_string(meta.dim) + " wide; the table's dim is " +
               std::to_string(dim_));
}

void Table::import_rows(const TableMeta& meta, const std::int64_t* keys, std::size_t count, const float* values,
                        const float* slots) {
  require_dim(meta);
  require_counters(meta.seen);
  const Batch batch(keys, count, IdKind::key, [](Batch&, std::size_t) {});
  if (batch.distinct() != count) {
    fail_invalid("rows for table '" + name() + "' hold key " + std::to_string(keys[batch.first_repeated()]) + " twice");
  }
  RowLayout rows = layout(meta.kind);
  if (meta.seen.tracked) rows.present |= kSeenCells;
  auto fresh = std::make_unique<State>(rows, meta.seed);
  fresh->kind = meta.kind;
  fresh->starts = meta.starts;
  fresh->restored = true;
  fresh->left = meta.left;
  const std::size_t width = fresh->layout.slot_width();
  batch.for_each_part([&](std::size_t part) {
    Shard& shard = *fresh->shards[part];
    shard.reserve(batch.ids(part));
    for (std::size_t i = batch.begin(part); i < batch.begin(part) + batch.ids(part); ++i) {
      const std::size_t from = batch.positions()[i];
      float* const row = shard.insert_empty(hash_key(keys[from]), keys[from], fresh->layout);
      copy_row(row, values + from * dim_, dim_);
      if (width != 0) std::memcpy(row + dim_, slots + from * width, width * sizeof(float));
    }
  });
  restore_seen(*fresh, meta.seen);
  std::size_t total = 0;
  for (const auto& shard : fresh->shards) total += shard->bytes(fresh->layout);
  if (limited() && total > static_cast<std::size_t>(config_.max_bytes)) refuse(total, " for the rows to restore; raise it");
  const Maintenance maintenance(maintenance_);
  {
    const WriteLock lock(structure_);
    std::swap(state_, fresh);
    ++epoch_;
    recount();
  }
}

void Table::merge(const TableMeta& meta, const std::int64_t* keys, std::size_t count, const float* values,
                  const float* slots) {
  require_dim(meta);
  require_counters(meta.seen);
  with_room([&] {
    const Maintenance maintenance(maintenance_);
    const WriteLock lock(structure_);
    const Recount recount(*this);
    const bool trained = meta.kind != OptimizerKind::none;
    if (trained && state_->kind != meta.kind) adopt(meta.kind, meta.starts, nullptr);
    if (trained) state_->optimizers.clear();
    if (meta.seen.tracked) track(meta.seen.bloom);
    const std::size_t width = trained ? state_->layout.slot_width() : 0;
    write_rows(resolve(keys, count), [&](float* row, std::size_t from) {
      copy_row(row, values + from * dim_, dim_);
      if (width != 0) std::memcpy(row + dim_, slots + from * width, width * sizeof(float));
    });
    if (!meta.seen.tracked) return;
    for (const auto& shard : state_->shards) shard->sightings = Sightings();
    restore_seen(*state_, meta.seen);
  });
}

void Table::upsert(const std::int64_t* keys, std::size_t count, const float* values) {
  with_room([&] {
    const ReadLock lock(structure_);
    write_rows(resolve(keys, count), [&](float* row, std::size_t from) { copy_row(row, values + from * dim_, dim_); });
  });
}

// Calls write(row, i) for the i-th id of the batch, equal ones in input order, under the locks.
template <typename Write>
void Table::write_rows(const Batch& batch, const Write& write) {
  const StepsGuard steps(*this);
  batch.for_each_part([&](std::size_t part) {
    Shard& shard = *state_->shards[part];
    const WriteLock shard_lock(shard.mutex);
    if (shard.capture.active()) save_part(shard, batch, part);
    const std::size_t begin = batch.begin(part);
    for (std::size_t i = begin; state_->steps && i < begin + batch.distinct(part); ++i) {
      catch_up(batch.rows()[i], state_->steps->now());
    }
    for (std::size_t i = begin; i < begin + batch.ids(part); ++i) {
      write(batch.rows()[begin + batch.numbers()[i]], batch.positions()[i]);
    }
  });
}

std::size_t Table::remove(const std::int64_t* keys, std::size_t count) {
  const Batch batch(keys, count, IdKind::key, [](Batch&, std::size_t) {});
  const Maintenance maintenance(maintenance_);
  std::atomic<std::size_t> removed{0};
  const WriteLock lock(structure_);
  const Recount recount(*this);
  ++epoch_;
  batch.for_each_part([&](std::size_t part) {
    const std::int64_t* const first = batch.keys() + batch.begin(part);
    removed += remove_from(*state_->shards[part], first, batch.distinct(part));
  });
  return removed;
}

// Removes keys from a shard; returns how many were there.
std::size_t Table::remove_from(Shard& shard, const std::int64_t* keys, std::size_t count) noexcept {
  std::size_t removed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    removed += shard.remove(hash_key(keys[i]), keys[i], state_->layout) ? 1 : 0;
    shard.sightings.erase(hash_key(keys[i]), keys[i]);
  }
  return removed;
}

}  // namespace recmigrate
