// Whole-table traffic: snapshot, import, upsert, deletion and the meta data that goes with a checkpoint.
#include <algorithm>
#include <cstdio>
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

// Rows that are to be restored, with the counters of `meta`.
struct Table::Restored {
  TableMeta meta;
  std::vector<std::int64_t> keys;
  std::vector<float> values;
  std::vector<float> slots;
};

std::unique_ptr<Table::State> Table::filled(const TableMeta& meta, const std::int64_t* keys, std::size_t count,
                                            const float* values, const float* slots) const {
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
  return fresh;
}

std::size_t Table::bytes_of(const State& state) noexcept {
  std::size_t total = 0;
  for (const auto& shard : state.shards) total += shard->bytes(state.layout);
  return total;
}

// Of rows to restore that are too many, those that fit: the ones seen last, of equal ones the largest keys, as `oldest` has
// it. Throws LimitReached when none does.
std::unique_ptr<Table::State> Table::fitted(std::unique_ptr<State> whole, Restored rows) const {
  const auto limit = static_cast<std::size_t>(config_.max_bytes);
  while (bytes_of(*whole) > limit && !rows.keys.empty()) {
    const RowLayout& layout = whole->layout;
    std::vector<std::pair<std::uint32_t, std::size_t>> order;  // when seen, and which row
    for (std::size_t i = 0; i < rows.keys.size(); ++i) {
      const std::uint64_t hash = hash_key(rows.keys[i]);
      const float* const row = whole->shards[shard_of(hash)]->find(hash, rows.keys[i]);
      order.emplace_back(layout.has(Cell::last_seen) ? layout.read(row, Cell::last_seen) : 0, i);
    }
    std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : rows.keys[a.second] > rows.keys[b.second];
    });
    const std::size_t fewer = (bytes_of(*whole) - limit) / (layout.stride() * sizeof(float)) + 1;
    const std::size_t left = rows.keys.size() - std::min(fewer, rows.keys.size());
    std::vector<std::int64_t> gone;
    for (std::size_t i = left; i < order.size(); ++i) gone.push_back(rows.keys[order[i].second]);
    std::sort(gone.begin(), gone.end());
    order.resize(left);
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const std::size_t width = layout.slot_width();
    Restored kept;
    for (const auto& one : order) {
      const auto at = static_cast<std::ptrdiff_t>(one.second);
      const auto dim = static_cast<std::ptrdiff_t>(dim_);
      const auto wide = static_cast<std::ptrdiff_t>(width);
      kept.keys.push_back(rows.keys[one.second]);
      kept.values.insert(kept.values.end(), rows.values.begin() + at * dim, rows.values.begin() + (at + 1) * dim);
      if (wide != 0) kept.slots.insert(kept.slots.end(), rows.slots.begin() + at * wide, rows.slots.begin() + (at + 1) * wide);
    }
    kept.meta = rows.meta;
    kept.meta.seen.keys.clear();
    kept.meta.seen.sightings.clear();
    for (std::size_t i = 0; i < rows.meta.seen.keys.size(); ++i) {
      if (std::binary_search(gone.begin(), gone.end(), rows.meta.seen.keys[i])) continue;
      kept.meta.seen.keys.push_back(rows.meta.seen.keys[i]);
      kept.meta.seen.sightings.push_back(rows.meta.seen.sightings[i]);
    }
    rows = std::move(kept);
    whole = filled(rows.meta, rows.keys.data(), rows.keys.size(), rows.values.data(), rows.slots.data());
    whole->thinned = true;
  }
  if (bytes_of(*whole) > limit) refuse(bytes_of(*whole), " for the rows to restore; raise it");
  return whole;
}

void Table::import_rows(const TableMeta& meta, const std::int64_t* keys, std::size_t count, const float* values,
                        const float* slots) {
  require_dim(meta);
  require_counters(meta.seen);
  auto fresh = filled(meta, keys, count, values, slots);
  const std::size_t total = bytes_of(*fresh);
  std::size_t gone = 0;
  if (limited() && total > static_cast<std::size_t>(config_.max_bytes)) {
    if (!config_.evicts) refuse(total, " for the rows to restore; raise it");
    const std::size_t width = fresh->layout.slot_width();
    fresh = fitted(std::move(fresh), {meta, {keys, keys + count}, {values, values + count * dim_},
                                      {slots, slots + count * width}});
    gone = count;
    for (const auto& shard : fresh->shards) gone -= shard->index.size();
    std::fprintf(stderr, "recmigrate: table '%s' was restored without %zu of %zu rows, to stay within its max_bytes\n",
                 name().c_str(), gone, count);
  }
  const Maintenance maintenance(maintenance_);
  {
    const WriteLock lock(structure_);
    std::swap(state_, fresh);
    ++epoch_;
    evicted_ += gone;
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
    if (trained && state_->kind != meta.kind) adopt(meta.kind, meta.starts, nullptr, keys, count);
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
