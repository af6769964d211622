// Rows of a checkpoint as the state of a table.
#include "store/snapshots/restored.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "store/errors.h"
#include "store/hash.h"
#include "store/notices.h"
#include "store/rows/base.h"
#include "store/rows/row.h"
#include "store/snapshots/snapshots.h"

namespace recmigrate {
namespace {

// The numbers of keys, ordered by the time when their rows were last seen, latest first; for equal times the largest
// keys first, as in `oldest`.
std::vector<std::size_t> newest_first(const State& state, const std::vector<std::int64_t>& keys) {
  std::vector<std::pair<std::uint32_t, std::size_t>> seen;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::uint64_t hash = hash_key(keys[i]);
    const float* const row = state.of_part(shard_of(hash)).find(hash, keys[i]);
    seen.emplace_back(state.layout.has(Cell::last_seen) ? state.layout.read(row, Cell::last_seen) : 0, i);
  }
  std::sort(seen.begin(), seen.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : keys[a.second] > keys[b.second];
  });
  std::vector<std::size_t> order;
  for (const auto& one : seen) order.push_back(one.second);
  return order;
}

}  // namespace

Apart::Apart(const RowsView& all, std::size_t dim, std::size_t width, bool has_base) : own_(all) {
  if (!has_base || std::none_of(all.keys, all.keys + all.count, is_base_key)) return;
  for (std::size_t i = 0; i < all.count; ++i) {
    Copy& to = copies_[is_base_key(all.keys[i])];
    to.keys.push_back(all.keys[i]);
    to.values.insert(to.values.end(), all.values + i * dim, all.values + (i + 1) * dim);
    if (all.slots != nullptr) to.slots.insert(to.slots.end(), all.slots + i * width, all.slots + (i + 1) * width);
  }
  const auto view = [&](const Copy& copy) {
    return RowsView{copy.keys.data(), copy.keys.size(), copy.values.data(), all.slots ? copy.slots.data() : nullptr};
  };
  own_ = view(copies_[0]);
  base_ = view(copies_[1]);
}

Divided::Divided(const TableMeta& of, const std::int64_t* buckets, std::size_t count, const Buckets& layout)
    : meta(of), keys(buckets, buckets + count) {
  meta.buckets = layout;
  meta.seen = {};  // counted buckets
  for (std::int64_t& key : keys) key += kBaseKeys;
}

Restored Restored::only(std::vector<std::size_t> kept) const {
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

void Restored::append_row(const std::vector<float>& from, std::size_t number, std::vector<float>& to) const {
  const std::size_t width = from.size() / keys.size();
  const auto begin = from.begin() + static_cast<std::ptrdiff_t>(number * width);
  to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
}

// A table without base_buckets saved them, and each id is a row of this one's base: the ids were buckets. An id that is
// such a row reads the same either way.
bool Snapshots::are_rows_of_buckets(const TableMeta& meta, const std::int64_t* keys, std::size_t count) const {
  const std::int64_t rows = config_.buckets.rows();
  const auto is_row = [rows](std::int64_t key) { return key >= 0 && key < rows; };
  if (meta.buckets != 0 || config_.buckets == 0 || count == 0 || !std::all_of(keys, keys + count, is_row)) return false;
  notices::post("table '" + name() + "' was restored from a checkpoint with " + std::to_string(count) + " rows of " +
                std::to_string(rows) + " buckets: an id without a row of its own begins with the row of its bucket");
  return true;
}

// Before the base gets its first row, in a table of rows with at least this layout.
void Snapshots::make_room_for_base(const Apart& rows, RowLayout after) {
  if (!limited() || rows.base().count == 0 || !state().base.empty()) return;
  after.present |= state().layout.present;
  limit_.make_room_for(after, rows.own().keys, rows.own().count, Base::bytes_of(config_.buckets, after.stride()));
}

void Snapshots::put_base(State& to, const RowsView& rows) const {
  if (rows.count == 0) return;
  to.base.reserve_for(rows.keys, rows.count, "table '" + name() + "'");
  const RowLayout& layout = to.layout;
  const std::size_t width = layout.slot_width();
  for (std::size_t i = 0; i < rows.count; ++i) {
    const bool is_new = to.base.row(rows.keys[i] - kBaseKeys) == nullptr;
    float* const row = to.base.put(rows.keys[i]);
    if (is_new) {
      for (std::size_t s = 0; s < layout.slots; ++s) {
        std::fill_n(row + layout.slots_at() + dim_ * s, dim_, to.starts[s]);
      }
    } else if (to.steps) {
      store_.catch_up(row, to.steps->now());
    }
    layout.write_value(row, rows.values + i * dim_);
    if (rows.slots != nullptr) std::copy_n(rows.slots + i * width, width, row + layout.slots_at());
    if (to.steps) layout.write(row, Cell::last_step, to.steps->now());
  }
}

void Snapshots::note_division(const Apart& rows) const {
  const std::int64_t has = config_.buckets.rows();
  const RowsView& base = rows.base();
  if (base.count == 0) return;
  const std::int64_t had = *std::max_element(base.keys, base.keys + base.count) - kBaseKeys + 1;
  if (had == has) return;
  notices::post("table '" + name() + "' was restored with the rows of " + std::to_string(had) +
                " buckets and divides ids into " + std::to_string(has) +
                "; if the checkpoint's ids were divided otherwise, create the table with base_buckets as it was then");
}

std::unique_ptr<State> Snapshots::filled(const TableMeta& meta, const std::int64_t* keys, std::size_t count,
                                         const float* values, const float* slots) const {
  const Batch batch(keys, count, IdKind::key, [](Batch&, std::size_t) {});
  if (batch.distinct() != count) {
    fail_invalid("rows for table '" + name() + "' hold key " + std::to_string(keys[batch.first_repeated()]) + " twice");
  }
  auto steps = meta.steps.empty() ? nullptr : meta.replayed();
  RowLayout rows = store_.layout(meta.kind, steps != nullptr || is_deferred(meta.kind));
  if (meta.seen.tracked) rows.present |= kSeenCells;
  auto fresh = store_.make_state(rows, meta.seed, count);
  fresh->kind = meta.kind;
  fresh->starts = meta.starts;
  fresh->training.restored = true;
  fresh->left = meta.left;
  fresh->updates = meta.updates;
  const std::size_t width = fresh->layout.slot_width();
  const auto put = [&](Shard& shard, std::size_t from) {
    float* const row = shard.insert_empty(hash_key(keys[from]), keys[from], fresh->layout);
    fresh->layout.write_value(row, values + from * dim_);
    if (width != 0) std::memcpy(row + fresh->layout.slots_at(), slots + from * width, width * sizeof(float));
    if (steps) fresh->layout.write(row, Cell::last_step, steps->now());
  };
  store_.choose_dense(*fresh, keys, count);
  // Each shard gets its rows in the order of the snapshot, so that the next one has the same.
  if (fresh->gathered()) {
    Shard& shard = *fresh->shards.front();
    shard.reserve_for(count, [&](std::size_t i) { return keys[i]; });
    for (std::size_t from = 0; from < count; ++from) put(shard, from);
  } else {
    batch.for_each_part([&](std::size_t part) {
      Shard& shard = *fresh->shards[part];
      const std::uint32_t* const from = batch.positions() + batch.begin(part);
      shard.reserve_for(batch.ids(part), [&](std::size_t i) { return keys[from[i]]; });
      for (std::size_t i = batch.begin(part); i < batch.begin(part) + batch.ids(part); ++i) {
        put(shard, batch.positions()[i]);
      }
    });
  }
  admission_.restore_seen(*fresh, meta.seen);
  fresh->steps = std::move(steps);
  return fresh;
}

// If there are too many rows to restore beside a base, keeps as many as fit. Throws LimitReached if none fits.
std::unique_ptr<State> Snapshots::fitted(std::unique_ptr<State> whole, const Restored& rows) const {
  const Base base = std::move(whole->base);
  const auto all = static_cast<std::size_t>(config_.max_bytes);
  const std::size_t limit = all - std::min(all, base.bytes());
  const std::vector<std::size_t> order = newest_first(*whole, rows.keys);
  std::size_t left = order.size();
  while (bytes_of(*whole) > limit && left > 0) {
    // Proportionally: an index takes more than its rows do, and grows in steps.
    const double share = static_cast<double>(limit) / static_cast<double>(bytes_of(*whole));
    left = std::min(left - 1, static_cast<std::size_t>(static_cast<double>(left) * share));
    const Restored kept = rows.only({order.begin(), order.begin() + static_cast<std::ptrdiff_t>(left)});
    whole = filled(kept.meta, kept.keys.data(), kept.keys.size(), kept.values.data(), kept.slots.data());
    whole->thinned = true;
  }
  if (bytes_of(*whole) > limit) limit_.refuse(bytes_of(*whole) + base.bytes(), " for the rows to restore; raise it");
  whole->base = base;
  return whole;
}

}  // namespace recmigrate
