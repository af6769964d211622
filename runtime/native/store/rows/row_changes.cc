// Inserts, stamps, removes and widens rows.
#include <algorithm>
#include <atomic>
#include <utility>

#include "store/errors.h"
#include "store/hash.h"
#include "store/parallel.h"
#include "store/rows/address.h"
#include "store/rows/row.h"
#include "store/rows/row_store.h"

namespace recmigrate {

namespace {

// The keys of a shard, or of its index, with the slots of their rows, in the order of these.
using KeysOfSlots = std::vector<std::pair<Slot, std::int64_t>>;

template <typename Keys>
KeysOfSlots by_slot(const Keys& keys) {
  KeysOfSlots rows;
  rows.reserve(keys.size());
  keys.for_each([&](std::int64_t key, Slot slot) { rows.emplace_back(slot, key); });
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace

// A key of a batch, by number, without a row.
struct RowStore::Missing {
  std::size_t shard;
  std::uint32_t number;
};

// Inserts the keys with these numbers into their shard.
template <typename Iterator>
void RowStore::insert_into(Shard& shard, const std::int64_t* keys, float** rows, Iterator begin, Iterator end) {
  const NewRow fresh = new_row();
  const WriteLock lock(shard.mutex);
  // Searched again, because another thread may have inserted it since.
  end = std::remove_if(begin, end, [&](const Missing& one) {
    const std::int64_t key = keys[one.number];
    return (rows[one.number] = shard.find(hash_key(key), key)) != nullptr;
  });
  const auto more = static_cast<std::size_t>(end - begin);
  require_places(shard, more);
  for (auto at = begin; at != end; ++at) require_id(keys[at->number]);
  const Growth growth(*this, shard);
  shard.reserve_for(more, [&](std::size_t i) { return keys[begin[static_cast<std::ptrdiff_t>(i)].number]; });
  for (; begin != end; ++begin) {
    const std::int64_t key = keys[begin->number];
    rows[begin->number] = shard.insert(hash_key(key), key, state_->layout, fresh);
  }
  if (!condenses_) return;
  const bool full = state_->gathered() && shard.size() > kGathered;
  if (full || shard.index.size() >= shard.look_at) crowded_.store(true, std::memory_order_relaxed);
}

// Inserts the missing keys of a part, one shard after the other, in input order.
void RowStore::insert_part(Batch& batch, std::size_t part) {
  const std::int64_t* const keys = batch.keys() + batch.begin(part);
  float** const rows = batch.rows() + batch.begin(part);
  std::vector<Missing> missing;
  for (std::uint32_t i = 0; i < batch.distinct(part); ++i) {
    if (rows[i] == nullptr) missing.push_back({shard_of_key(keys[i]) & state_->mask, i});
  }
  const auto by_shard = [](const Missing& a, const Missing& b) { return a.shard < b.shard; };
  const auto in_order = [](const Missing& a, const Missing& b) {
    return a.shard != b.shard ? a.shard < b.shard : a.number < b.number;
  };
  if (batch.undivided()) std::sort(missing.begin(), missing.end(), in_order);
  for (auto own = missing.begin(); own != missing.end();) {
    const auto end = std::upper_bound(own, missing.end(), *own, by_shard);
    insert_into(*state_->shards[own->shard], keys, rows, own, end);
    own = end;
  }
}

void RowStore::require_places(const Shard& shard, std::size_t more) const {
  if (!config_.expansion || shard.used + more <= kAddressedSlots) return;
  fail_limit("a shard of table '" + name() + "' holds at most 268435456 rows that have addresses");
}

// A number that increases with each batch and is written to the rows that it uses.
std::uint32_t RowStore::next_stamp() noexcept {
  if (!config_.stamps()) return 0;
  std::uint32_t last = state_->batches;
  while (last != 0xffffffffU && !state_->batches.compare_exchange_weak(last, last + 1)) {
  }
  return last == 0xffffffffU ? last : last + 1;
}

// Stamps the rows of a part as used; null rows are skipped. The shard is locked.
void RowStore::stamp_part(const Batch& batch, std::size_t part, std::uint32_t stamp) const noexcept {
  if (!config_.stamps()) return;
  const RowLayout& layout = state_->layout;
  const std::size_t used_at = layout.at(Cell::used);
  const std::size_t uses_at = layout.at(Cell::uses);
  const bool counts = config_.tiered();
  const std::size_t begin = batch.begin(part);
  for (std::size_t i = begin; i < begin + batch.distinct(part); ++i) {
    float* const row = batch.rows()[i];
    if (row == nullptr) continue;
    // The latest batch counts: a slower one at the same time must not make its rows seem older.
    if (read_cell(row + used_at) >= stamp) continue;
    if (counts) write_cell(row + uses_at, add_saturated(read_cell(row + uses_at), 1));
    write_cell(row + used_at, stamp);
  }
}

// Saves the rows of a part, whose shards are locked, to running snapshots before they change.
void RowStore::save_part(const Batch& batch, std::size_t part) noexcept {
  const std::int64_t* const keys = batch.keys() + batch.begin(part);
  bool any = false;
  for (std::uint64_t rest = state_->shards_of_parts(batch.shards(part)); rest != 0; rest &= rest - 1) {
    any = any || state_->shards[static_cast<std::size_t>(__builtin_ctzll(rest))]->capture.active();
  }
  for (std::size_t i = 0; any && i < batch.distinct(part); ++i) {
    Shard& shard = state_->of_part(shard_of_id(keys[i], batch.kind()));
    if (!shard.capture.active()) continue;
    const Slot slot =
        batch.kind() == IdKind::address ? address_slot(keys[i]) : shard.slot_of(hash_key(keys[i]), keys[i]);
    if (slot != kAbsent) shard.capture.save(slot, shard.row(slot));
  }
}

void RowStore::catch_up(float* row, std::uint32_t taken) const noexcept {
  const std::uint32_t from = state_->layout.read(row, Cell::last_step);
  narrow() ? narrow::catch_up(state_->layout, *state_->steps, row) : state_->steps->catch_up(row, from, dim_);
  state_->layout.write(row, Cell::last_step, std::max(from, taken));
}

void RowStore::settle_part(const Batch& batch, std::size_t part) noexcept {
  const std::uint32_t now = state_->steps->now();
  float* const* const rows = batch.rows() + batch.begin(part);
  const WriteGuard guard(*state_, batch.shards(part));
  save_part(batch, part);
  for (std::size_t i = 0; i < batch.distinct(part); ++i) {
    if (rows[i] != nullptr) catch_up(rows[i], now);
  }
}

std::size_t RowStore::remove(const std::int64_t* keys, std::size_t count) {
  const Batch batch(keys, count, IdKind::key, [](Batch&, std::size_t) {});
  const Maintenance maintenance(maintenance_);
  std::atomic<std::size_t> removed{0};
  const WriteLock lock(structure_);
  if (count >= kWorthSplitting) spread();  // shards are changed by several threads
  const Recount recount(*this);
  ++epoch_;
  removed += state_->base.erase(keys, count);
  batch.for_each_part([&](std::size_t part) {
    const std::int64_t* const first = batch.keys() + batch.begin(part);
    removed += remove_from(state_->of_part(part), first, batch.distinct(part));
  });
  return removed;
}

// Removes keys from a shard; returns how many existed.
std::size_t RowStore::remove_from(Shard& shard, const std::int64_t* keys, std::size_t count) noexcept {
  std::size_t removed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool above = shard.remove(hash_key(keys[i]), keys[i], state_->layout);
    removed += above || remove_below(*state_, shard, hash_key(keys[i]), keys[i]) ? 1 : 0;
    shard.sightings.erase(hash_key(keys[i]), keys[i]);
  }
  return removed;
}

// The caller holds `structure`.
void RowStore::recount() noexcept { bytes_ = bytes_of(*state_); }

void RowStore::note_gathered() noexcept {
  gathered_.store(state_->gathered(), std::memory_order_relaxed);
  crowded_.store(false, std::memory_order_relaxed);
}

void RowStore::expect(std::size_t keys) {
  const bool gathered = gathered_.load(std::memory_order_relaxed);
  const bool splits = gathered && keys >= kWorthSplitting;
  if (!splits && !crowded_.load(std::memory_order_relaxed)) return;
  // What can wait does not wait for a snapshot to be written.
  std::unique_lock<FairMutex> maintenance(maintenance_, std::defer_lock);
  if (splits) {
    maintenance.lock();
  } else if (!maintenance.try_lock()) {
    return;
  }
  const WriteLock lock(structure_);
  if (splits || state_->shards.front()->size() > kGathered) spread();
  condense();
  crowded_.store(false, std::memory_order_relaxed);
}

// The rows go to the shards of their keys, in the order of their slots; they are built beside the old ones.
void RowStore::spread() {
  if (!state_->gathered()) return;
  const Recount recount(*this);
  const RowLayout& layout = state_->layout;
  auto arena = std::make_unique<Arena>(layout.chunk_bytes());
  auto memory = std::make_unique<DenseMemory>();
  std::vector<std::unique_ptr<Shard>> shards = empty_shards(layout, *arena, *memory, false);
  const Shard& whole = *state_->shards.front();
  const KeysOfSlots rows = by_slot(whole);
  std::size_t counts[kShards] = {};
  for (const auto& row : rows) ++counts[shard_of_key(row.second)];
  for (std::size_t s = 0; s < kShards; ++s) shards[s]->reserve(counts[s]);
  for (const auto& [slot, key] : rows) {
    float* const row = shards[shard_of_key(key)]->insert_empty(hash_key(key), key, layout);
    std::copy_n(whole.row(slot), layout.stride(), row);
  }
  state_->shards = std::move(shards);
  state_->arena = std::move(arena);
  state_->dense = std::move(memory);
  state_->mask = kShards - 1;
  ++epoch_;
  note_gathered();
  condense();
}

// The limit that the dense rows of a state should have, by the keys of one shard, which are a sample of all.
std::uint64_t RowStore::dense_limit_of(const State& state, std::vector<std::uint64_t> numbers) const {
  const Shard& sample = *state.shards.front();
  std::sort(numbers.begin(), numbers.end());
  return dense_limit(numbers, sample.dense.limit(), sample.dense.size(), state.layout.stride() * sizeof(float),
                     state.gathered() ? 2 * kGathered : 0);
}

void RowStore::condense() {
  if (!condenses_) return;
  const Shard& sample = *state_->shards.front();
  std::vector<std::uint64_t> numbers;
  sample.index.for_each([&](std::int64_t key, Slot) {
    if (key >= 0) numbers.push_back(sample.dense.number_of(key));
  });
  const std::uint64_t limit = dense_limit_of(*state_, std::move(numbers));
  if (limit != sample.dense.limit()) raise_dense(limit);
  for (const auto& shard : state_->shards) {
    // Again once what is in the index has grown by an eighth, or by as much of all rows.
    shard->look_at = Shard::kLookFirst + shard->index.size() + std::max(shard->index.size(), shard->dense.size()) / 8;
  }
}

// Rows below the limit become dense; those that are stay where they are, but for some of the last. If they are most of
// the others, what is left is built anew without holes; if not, later rows fill the holes, so that this takes as long
// as there are rows to move. If memory runs out, nothing has changed.
void RowStore::raise_dense(std::uint64_t limit) {
  const Recount recount(*this);
  const RowLayout& layout = state_->layout;
  auto arena = std::make_unique<Arena>(layout.chunk_bytes());
  std::vector<std::unique_ptr<Shard>> sparse = empty_shards(layout, *arena, *state_->dense, state_->gathered());
  std::vector<KeysOfSlots> rows(kShards);
  ++epoch_;
  parallel::run(state_->mask + 1, [&](std::size_t s) {
    Shard& shard = *state_->shards[s];
    shard.dense.prepare(limit);
    shard.index.for_each([&](std::int64_t key, Slot slot) {
      if (shard.dense.number_of(key) >= limit) return;
      shard.dense.reserve(key);
      rows[s].emplace_back(slot, key);
    });
  });
  std::size_t moved = 0;
  std::size_t all = 0;
  for (std::size_t s = 0; s < kShards; ++s) {
    moved += rows[s].size();
    all += state_->shards[s]->index.size();
  }
  const bool most = 2 * moved >= all;
  if (most) {
    parallel::run(kShards, [&](std::size_t s) {
      sparse[s]->reserve(state_->shards[s]->index.size() - rows[s].size());
      rows[s] = by_slot(state_->shards[s]->index);
    });
  }
  parallel::run(kShards, [&](std::size_t s) {
    Shard& shard = *state_->shards[s];
    if (s <= state_->mask) shard.dense.raise(limit);
    for (const auto& [slot, key] : rows[s]) {
      const bool is_dense = shard.dense.covers(key);
      const Slot to = is_dense ? shard.dense.insert(key) : sparse[s]->used++;
      std::copy_n(shard.rows.row(slot), layout.stride(), is_dense ? shard.row(to) : sparse[s]->row(to));
      if (!is_dense) sparse[s]->index.insert(hash_key(key), key, to);
      if (most) continue;
      shard.index.erase(hash_key(key), key);
      shard.free.push(slot, shard.rows);
    }
    if (!most) return;
    shard.index = std::move(sparse[s]->index);
    shard.rows = std::move(sparse[s]->rows);
    shard.used = sparse[s]->used;
    shard.free = FreeSlots();
  });
  if (most) state_->arena = std::move(arena);
}

void RowStore::choose_dense(State& state, const std::int64_t* keys, std::size_t count) const {
  if (!condenses_) return;
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    const bool sampled = state.gathered() || shard_of_key(keys[i]) == 0;
    if (keys[i] >= 0 && sampled) numbers.push_back(state.shards.front()->dense.number_of(keys[i]));
  }
  const std::uint64_t limit = dense_limit_of(state, std::move(numbers));
  for (std::size_t s = 0; s <= state.mask; ++s) {
    state.shards[s]->dense.prepare(limit);
    state.shards[s]->dense.raise(limit);
  }
}

// The new rows are built beside the old ones: if memory runs out, nothing has changed.
void RowStore::widen(const RowLayout& after, bool keep_slots, const SlotStarts& starts) {
  const Recount recount(*this);
  const RowLayout before = state_->layout;
  auto arena = std::make_unique<Arena>(after.chunk_bytes());
  auto memory = std::make_unique<DenseMemory>();
  std::vector<Rows> wider;
  std::vector<DenseRows> dense;
  wider.reserve(kShards);
  dense.reserve(kShards);
  for (std::size_t s = 0; s < kShards; ++s) {
    wider.emplace_back(after, *arena, Shard::phase(s), Shard::block_bytes(s == 0 && state_->gathered()));
    dense.push_back(state_->shards[s]->dense.restrided(after.stride(), *memory));
  }
  const auto widen_row = [&](float* row, const float* old) {
    const std::size_t slots_at = after.slots_at();  // as before: the type of values does not change
    std::copy_n(old, slots_at, row);
    const std::size_t kept = keep_slots ? before.slots : 0;
    std::copy_n(old + slots_at, dim_ * kept, row + slots_at);
    for (std::size_t i = kept; i < after.slots; ++i) std::fill_n(row + slots_at + dim_ * i, dim_, starts[i]);
    after.copy_cells(row, before, old);
  };
  parallel::run(kShards, [&](std::size_t s) {
    const Shard& shard = *state_->shards[s];
    wider[s].reserve(shard.used);
    for (Slot slot = 0; slot < shard.used; ++slot) widen_row(wider[s].row(slot), shard.rows.row(slot));
    shard.dense.for_each(
        [&](std::int64_t, Slot slot) { widen_row(dense[s].row(slot & ~kDense), shard.dense.row(slot & ~kDense)); });
  });
  Base base = state_->base.changed(after.stride(), widen_row);
  take_over(*state_, rebuilt_below(after, widen_row));
  state_->base = std::move(base);
  for (std::size_t s = 0; s < kShards; ++s) {
    state_->shards[s]->rows = std::move(wider[s]);
    state_->shards[s]->dense = std::move(dense[s]);
  }
  state_->dense = std::move(memory);
  state_->arena = std::move(arena);
  state_->layout = after;
  ++epoch_;
}

}  // namespace recmigrate
