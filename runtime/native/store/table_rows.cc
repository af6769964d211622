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
  TableMeta result{state_->seed, static_cast<std::int64_t>(dim_),
                   state_->kind, state_->starts,
                   {},           state_->left * (state_->steps ? state_->steps->shrinkage() : 1.0)};
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

  // Those of these numbers, in their order here, with their counters and those of keys that have no row.
  [[nodiscard]] Restored only(std::vector<std::size_t> kept) const {
    std::sort(kept.begin(), kept.end());
    Restored result;
    for (const std::size_t i : kept) {
      result.keys.push_back(keys[i]);
      append_row(values, i, result.values);
      append_row(slots, i, result.slots);
    }
    std::vector<std::int64_t> had = keys;
    std::vector<std::int64_t> has = result.keys;
    std::sort(had.begin(), had.end());
    std::sort(has.begin(), has.end());
    result.meta = meta;
    result.meta.seen.keys.clear();
    result.meta.seen.sightings.clear();
    for (std::size_t i = 0; i < meta.seen.keys.size(); ++i) {
      const std::int64_t key = meta.seen.keys[i];
      if (std::binary_search(had.begin(), had.end(), key) && !std::binary_search(has.begin(), has.end(), key)) continue;
      result.meta.seen.keys.push_back(key);
      result.meta.seen.sightings.push_back(meta.seen.sightings[i]);
    }
    return result;
  }

 private:
  void append_row(const std::vector<float>& from, std::size_t number, std::vector<float>& to) const {
    const std::size_t width = from.size() / keys.size();
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(number * width);
    to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
  }
};

std::unique_ptr<Table::State> Table::filled(const TableMeta& meta, const std::int64_t* keys, std::size_t count,
                                            const float* values, const float* slots) const {
  const Batch batch(keys, count, IdKind::key, [](Batch&, std::size_t) {});
  if (batch.distinct() != count) {
    fail_invalid("rows for table '" + name() + "' hold key " + std::to_string(keys[batch.first_repeated()]) + " twice");
  }
  RowLayout rows = layout(meta.kind);
  if (meta.seen.tracked) rows.present |= kSeenCells;
  auto fresh = make_state(rows, meta.seed);
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

// The numbers of keys, those first whose rows were seen last, of equal ones the largest keys, as `oldest` has it.
std::vector<std::size_t> Table::newest_first(const State& state, const std::vector<std::int64_t>& keys) {
  std::vector<std::pair<std::uint32_t, std::size_t>> seen;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::uint64_t hash = hash_key(keys[i]);
    const float* const row = state.shards[shard_of(hash)]->find(hash, keys[i]);
    seen.emplace_back(state.layout.has(Cell::last_seen) ? state.layout.read(row, Cell::last_seen) : 0, i);
  }
  std::sort(seen.begin(), seen.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : keys[a.second] > keys[b.second];
  });
  std::vector<std::size_t> order;
  for (const auto& one : seen) order.push_back(one.second);
  return order;
}

// Of rows to restore that are too many, as many as fit. Throws LimitReached when none does.
std::unique_ptr<Table::State> Table::fitted(std::unique_ptr<State> whole, const Restored& rows) const {
  const auto limit = static_cast<std::size_t>(config_.max_bytes);
  const std::vector<std::size_t> order = newest_first(*whole, rows.keys);
  std::size_t left = order.size();
  while (bytes_of(*whole) > limit && left > 0) {
    // In proportion: an index takes more than its rows do, and grows by steps.
    const double share = static_cast<double>(limit) / static_cast<double>(bytes_of(*whole));
    left = std::min(left - 1, static_cast<std::size_t>(static_cast<double>(left) * share));
    const Restored kept = rows.only({order.begin(), order.begin() + static_cast<std::ptrdiff_t>(left)});
    whole = filled(kept.meta, kept.keys.data(), kept.keys.size(), kept.values.data(), kept.slots.data());
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
    fresh = fitted(std::move(fresh),
                   {meta, {keys, keys + count}, {values, values + count * dim_}, {slots, slots + count * width}});
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
  if (tiered()) sweeper::threads() == 0 ? tend() : sweeper::ask(*this);
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
  make_way();
  with_room([&] {
    const ReadLock lock(structure_);
    write_rows(resolve(keys, count), [&](float* row, std::size_t from) { copy_row(row, values + from * dim_, dim_); });
  });
  after_use();
}

// Calls write(row, i) for the i-th id of the batch, equal ones in input order, under the locks.
template <typename Write>
void Table::write_rows(const Batch& batch, const Write& write) {
  const StepsGuard steps(*this);
  batch.for_each_part([&](std::size_t part) {
    const WriteGuard guard(*state_, batch.shards(part));
    save_part(batch, part);
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
    const bool above = shard.remove(hash_key(keys[i]), keys[i], state_->layout);
    removed += above || remove_below(shard, hash_key(keys[i]), keys[i]) ? 1 : 0;
    shard.sightings.erase(hash_key(keys[i]), keys[i]);
  }
  return removed;
}

}  // namespace recmigrate
