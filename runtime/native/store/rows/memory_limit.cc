#include "store/rows/memory_limit.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "store/errors.h"
#include "store/hash.h"
#include "store/parallel.h"

namespace recmigrate {
namespace {

// Minimum share of rows to evict: many insertions share the cost of an eviction.
constexpr std::size_t kOneOf = 20;

}  // namespace

void Demand::set(const Shard& shard, std::size_t part, std::size_t more_rows, std::size_t counters,
                 const RowLayout& layout) noexcept {
  rows[part] = more_rows;
  bytes[part] = shard.bytes_for(more_rows, layout) + counters;
}

// Adds what is being added to the table's bytes in advance; the shards are counted as they grow.
MemoryLimit::Booking::Booking(MemoryLimit& limit, const Demand& demand, std::uint32_t stamp)
    : store_(limit.store_), bytes_(std::accumulate(demand.bytes, demand.bytes + kShards, std::size_t{0})) {
  const std::size_t total = store_.booked_bytes() += bytes_;
  if (total <= static_cast<std::size_t>(store_.config().max_bytes) || bytes_ == 0) return;
  store_.booked_bytes() -= bytes_;
  if (store_.config().evicts) throw Full{&limit, demand, stamp};
  limit.refuse(total, "; raise it, or evict rows first");
}

void MemoryLimit::refuse(std::size_t bytes, const std::string& remedy) const {
  fail_limit("table '" + name() + "' would need " + std::to_string(bytes) + " bytes and has a max_bytes of " +
             std::to_string(config_.max_bytes) + remedy);
}

// Bytes of the table with another row layout, and filters.
std::size_t MemoryLimit::bytes_with(const RowLayout& after, const BloomConfig& bloom) const noexcept {
  std::size_t total = store_.booked_bytes();
  if (!state().base.empty()) {
    total += state().base.bytes() / state().layout.stride() * (after.stride() - state().layout.stride());
  }
  for (const auto& shard : state().shards) {
    total +=
        shard->used * (after.stride() - state().layout.stride()) * sizeof(float);  // modulo 2^64, should it be less
    total -= shard->bloom ? shard->bloom->bytes() : 0;
    total += bloom.max_elements == 0 ? 0 : CountingBloom::bytes_of(bloom, kShards);
  }
  return total;
}

// Refuses those that would exceed the limit. The caller holds `structure`.
void MemoryLimit::require_room(const RowLayout& after, const BloomConfig& bloom, std::size_t base) const {
  if (config_.max_bytes == 0) return;
  const std::size_t total = bytes_with(after, bloom) + base;
  if (total > store_.booked_bytes() && total > static_cast<std::size_t>(config_.max_bytes)) {
    refuse(total, base != 0 ? " with the rows of buckets that it is to get; raise it"
                            : " with the slots and counters that its rows are to get; raise it");
  }
}

// The same for a row layout and a base, but evicts the least recently used rows, never those of `keys`, and frees their
// places if rows may move: those with addresses may not. The caller holds `maintenance` and `structure`.
void MemoryLimit::make_room_for(const RowLayout& after, const std::int64_t* keys, std::size_t count, std::size_t base) {
  const auto limit = static_cast<std::size_t>(config_.max_bytes);
  const std::size_t width = after.stride() * sizeof(float);
  const std::size_t total = bytes_with(after, state().counting.bloom) + base;
  if (!config_.evicts || config_.expansion || total <= std::max<std::size_t>(limit, store_.booked_bytes())) {
    return require_room(after, state().counting.bloom, base);
  }
  std::size_t rows = 0;
  std::size_t places = 0;
  for (const auto& shard : state().shards) {
    rows += shard->index.size();
    places += shard->used;
  }
  const std::size_t fixed = total - places * width;
  if (base != 0 && fixed > limit) return require_room(after, state().counting.bloom, base);
  const std::size_t fit = fixed < limit ? (limit - fixed) / width : 0;
  std::vector<std::vector<std::int64_t>> gone(kShards);
  if (rows > fit) {
    const std::uint32_t stamp = store_.next_stamp();
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t hash = hash_key(keys[i]);
      float* const row = state().shards[shard_of(hash)]->find(hash, keys[i]);
      if (row != nullptr) state().layout.write(row, Cell::used, stamp);
    }
    const std::vector<Candidate> candidates = oldest(stamp, rows - fit + rows / kOneOf);
    if (candidates.size() < rows - fit) {
      refuse(fixed + (rows - candidates.size()) * width,
             " with the slots and counters that its rows are to get, even "
             "without the rows that this batch of ids does not need; raise it, or use smaller batches");
    }
    const std::size_t fewer = std::min(candidates.size(), rows - fit + rows / kOneOf);
    for (std::size_t i = 0; i < fewer; ++i) gone[candidates[i].shard].push_back(candidates[i].key);
  }
  const Recount recount(store_);
  evict(gone);
  compact();
}

// Moves rows into the places of removed rows, so that no such place remains; their addresses change.
void MemoryLimit::compact() {
  store_.next_epoch();
  parallel::run(kShards, [&](std::size_t s) {
    Shard& shard = *state().shards[s];
    const auto rows = static_cast<Slot>(shard.index.size());
    std::vector<Slot> places;
    std::vector<std::pair<std::int64_t, Slot>> moved;
    shard.free.for_each(shard.rows, [&](Slot slot) {
      if (slot < rows) places.push_back(slot);
    });
    shard.index.for_each([&](std::int64_t key, Slot slot) {
      if (slot >= rows) moved.emplace_back(key, slot);
    });
    for (std::size_t i = 0; i < moved.size(); ++i) {
      const auto [key, from] = moved[i];
      std::copy_n(shard.rows.row(from), state().layout.stride(), shard.rows.row(places[i]));
      shard.index.erase(hash_key(key), key);
      shard.index.insert(hash_key(key), key, places[i]);
    }
    shard.free = FreeSlots();
    shard.used = rows;
  });
}

void MemoryLimit::insert_within_limit(Batch& batch, std::uint32_t stamp) {
  const auto missing_in = [&](std::size_t part) {
    float* const* const rows = batch.rows() + batch.begin(part);
    return static_cast<std::size_t>(std::count(rows, rows + batch.distinct(part), nullptr));
  };
  std::size_t wanted = 0;
  for (std::size_t part = 0; part < kShards; ++part) wanted += missing_in(part);
  if (wanted == 0) return;
  const std::lock_guard<std::mutex> filling(filling_);
  Demand demand;
  for (std::size_t part = 0; part < kShards; ++part) {
    const std::size_t missing = missing_in(part);
    if (missing == 0) continue;
    const Shard& shard = *state().shards[part];
    const ReadLock lock(shard.mutex);
    demand.set(shard, part, missing, 0, state().layout);
  }
  const Booking booking(*this, demand, stamp);
  batch.for_each_part([&](std::size_t part) {
    if (demand.rows[part] == 0) return;
    store_.insert_part(batch, part);
    const WriteLock lock(state().shards[part]->mutex);
    store_.stamp_part(batch, part, stamp);
  });
}

// Bytes that shard `s` needs more for the rows of a batch once `evicted` of its own are removed (modulo 2^64, should it
// be less), where its other rows stay in their places, or move into those that are left.
std::size_t MemoryLimit::need_of(std::size_t s, const Demand& demand, std::size_t evicted,
                                 Places places) const noexcept {
  const Shard& shard = *state().shards[s];
  const std::size_t rows = shard.index.size() - evicted + demand.rows[s];
  const std::size_t kept = places == Places::kept ? std::max<std::size_t>(rows, shard.used) : rows;
  return (kept - shard.used) * state().layout.stride() * sizeof(float) + shard.index.bytes_for(rows) -
         shard.index.bytes();
}

// Whether a shard may use memory to count further keys without a row. If rows are evicted, their memory is kept for
// rows, so it may not if the table is full: then it drops other keys. (Shards that grow at the same time do no harm.)
bool MemoryLimit::has_room_to_count(const Shard& shard, std::size_t more) const noexcept {
  if (!config_.evicts) return true;
  const std::size_t counters = shard.sightings.bytes_for(more) - shard.sightings.bytes();
  return counters == 0 || store_.booked_bytes() + counters <= static_cast<std::size_t>(config_.max_bytes);
}

// Rows whose last use is old enough that there are at least `least` of them, oldest first; rows that no batch used
// since a restore are ordered by the time they were last seen, then by key. Excludes rows of the batch `own`; those of
// later batches come last.
std::vector<MemoryLimit::Candidate> MemoryLimit::oldest(std::uint32_t own, std::size_t least) const {
  const RowLayout& layout = state().layout;
  std::vector<std::uint32_t> uses;
  for (const auto& shard : state().shards) {
    shard->index.for_each([&](std::int64_t, Slot slot) {
      const std::uint32_t used = layout.read(shard->rows.row(slot), Cell::used);
      if (used != own) uses.push_back(used);
    });
  }
  if (uses.empty()) return {};
  const auto last = uses.begin() + static_cast<std::ptrdiff_t>(std::min(least, uses.size()) - 1);
  std::nth_element(uses.begin(), last, uses.end());
  const std::uint32_t newest = *last;
  std::vector<std::uint32_t>().swap(uses);
  std::vector<Candidate> found;
  for (std::size_t s = 0; s < kShards; ++s) {
    const Shard& shard = *state().shards[s];
    shard.index.for_each([&](std::int64_t key, Slot slot) {
      const float* const row = shard.rows.row(slot);
      const std::uint32_t used = layout.read(row, Cell::used);
      if (used > newest || used == own) return;
      found.push_back({used, layout.has(Cell::last_seen) ? layout.read(row, Cell::last_seen) : 0, key, s});
    });
  }
  std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.used, a.last_seen, a.key) < std::tie(b.used, b.last_seen, b.key);
  });
  return found;
}

// Chooses candidates in their order, at least `least` of them, until the batch fits. A place that is kept is of use to
// its own shard alone, so that further ones are only those of shards that lack places.
MemoryLimit::Choice MemoryLimit::choose(const std::vector<Candidate>& candidates, std::size_t least, std::size_t limit,
                                        const Demand& demand, Places places) const {
  Choice choice;
  choice.bytes = store_.booked_bytes();
  for (std::size_t s = 0; s < kShards; ++s) choice.bytes += need_of(s, demand, 0, places);
  std::size_t chosen = 0;
  for (const Candidate& one : candidates) {
    if (chosen >= least && choice.bytes <= limit) break;
    std::vector<std::int64_t>& gone = choice.keys[one.shard];
    if (chosen >= least && places == Places::kept &&
        demand.rows[one.shard] <= state().shards[one.shard]->free.size() + gone.size())
      continue;
    choice.bytes -= need_of(one.shard, demand, gone.size(), places);
    gone.push_back(one.key);
    choice.bytes += need_of(one.shard, demand, gone.size(), places);
    ++chosen;
  }
  return choice;
}

// Evicts the least recently used rows, so that a batch fits whose own rows were stamped: a twentieth of all, and as
// many more as needed. Where the places of the twentieth are in the wrong shards, rows move; those with addresses may
// not, so that more go of the shards that lack places. If all of them are too few, throws LimitReached and changes
// nothing.
void MemoryLimit::make_room(const Full& full) {
  const Maintenance maintenance(store_.maintenance());
  const WriteLock lock(store_.structure());
  const Recount recount(store_);
  // Counters of keys may have exceeded the limit slightly; then the number of rows stays as it is.
  const std::size_t limit = std::max<std::size_t>(static_cast<std::size_t>(config_.max_bytes), store_.booked_bytes());
  std::size_t rows = 0;
  for (const auto& shard : state().shards) rows += shard->index.size();
  const std::size_t first = rows / kOneOf + 1;
  for (std::size_t least = first;; least *= 2) {
    const std::vector<Candidate> candidates = oldest(full.stamp, least);
    const std::vector<Candidate> few(
        candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(std::min(first, candidates.size())));
    Choice choice = choose(config_.expansion ? candidates : few, first, limit, full.demand, Places::kept);
    const bool moves = choice.bytes > limit && !config_.expansion;
    if (moves) choice = choose(candidates, first, limit, full.demand, Places::filled);
    if (choice.bytes <= limit) {
      evict(choice.keys);
      if (moves) compact();
      return;
    }
    if (candidates.size() < least) {
      refuse(choice.bytes,
             ", even without the rows that this batch of ids does not need; raise it, or use smaller batches");
    }
  }
}

// The caller holds `maintenance` and `structure`.
std::size_t MemoryLimit::evict(const std::vector<std::vector<std::int64_t>>& keys) {
  store_.next_epoch();
  std::atomic<std::size_t> removed{0};
  parallel::run(kShards, [&](std::size_t s) {
    removed += store_.remove_from(*state().shards[s], keys[s].data(), keys[s].size());
  });
  if (removed != 0) state().thinned = true;
  store_.add_evicted(removed);
  return removed;
}

}  // namespace recmigrate
