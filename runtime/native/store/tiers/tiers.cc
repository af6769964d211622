// The tiers as seen by calls: rows that move up, and their limits.
#include "store/tiers/tiers.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "store/errors.h"
#include "store/hash.h"
#include "store/parallel.h"
#include "store/rows/row.h"
#include "store/tiers/prefetcher.h"

namespace recmigrate {
namespace {

// Memory of a row besides itself: its part of the index.
constexpr std::size_t kIndexBytes = 16;

// Rows that may exceed the memory tier before a step waits for the background.
constexpr std::size_t kSlack = std::size_t{1} << 16;

std::size_t round_up_16(std::size_t bytes) noexcept { return (bytes + 15) / 16 * 16; }

}  // namespace

Tiers::Tiers(RowStore& store, RecentBatches& recent)
    : Part(store), recent_(recent), prefetcher_(tiered() ? std::make_unique<Prefetcher>(*this) : nullptr) {}

Tiers::~Tiers() {
  if (prefetcher_) prefetcher_->close();
  sweeper::forget(*this);
  sweeper::forget(compactor_, sweeper::Work::compact);
  if (prefetcher_) prefetcher_->close();  // rows that moved down meanwhile may have called it
}

// A key of a part, by number, with its row in a lower tier.
struct Tiers::Below {
  std::uint32_t number;
  std::uint32_t tier;
  Slot place;
};

// The maximum number of rows of a tier; for the last one, its medium reports when it is full.
std::size_t Tiers::capacity_of(std::size_t tier) const noexcept {
  const RowLayout& layout = state().layout;
  const std::uint64_t bytes = config_.tiers[tier].bytes;
  if (bytes == 0) return std::numeric_limits<std::size_t>::max();
  const std::size_t each = config_.tier_counts_values ? round_up_16(layout.slots_at() * sizeof(float)) +
                                                            round_up_16(dim_ * sizeof(float)) * layout.slots
                                                      : layout.stride() * sizeof(float) + (tier == 0 ? kIndexBytes : 0);
  return static_cast<std::size_t>(bytes / each);
}

// Moves the rows of a batch's keys up from the tiers below and, with `insert`, creates rows for keys without one.
// `structure` is held, so rows that moved up stay until the batch is done.
void Tiers::bring_up(Batch& batch, bool insert, std::uint32_t stamp) {
  Needing needing(*this);
  std::vector<std::vector<Below>> found(kShards);
  std::atomic<std::uint64_t> in_memory{0};
  batch.for_each_part([&](std::size_t part) {
    float* const* const rows = batch.rows() + batch.begin(part);
    const auto missing = static_cast<std::size_t>(std::count(rows, rows + batch.distinct(part), nullptr));
    in_memory += batch.distinct(part) - missing;
    if (missing != 0) find_below(batch, part, found[part]);
  });
  hits_[0] += in_memory;
  std::vector<std::size_t> begins(kShards + 1);
  for (std::size_t s = 0; s < kShards; ++s) begins[s + 1] = begins[s] + found[s].size();
  const std::size_t width = state().layout.stride();
  const std::size_t count = begins[kShards];
  Scratch memory(Scratch::bytes_of<float>(count * width));
  float* const rows = memory.take<float>(count * width);
  for (std::size_t t = 0; t < state().lower.size() && count != 0; ++t) {
    std::vector<std::int64_t> keys;
    std::vector<Slot> places;
    std::vector<float*> to;
    for (std::size_t s = 0; s < kShards; ++s) {
      for (std::size_t i = 0; i < found[s].size(); ++i) {
        if (found[s][i].tier != t) continue;
        keys.push_back(batch.keys()[batch.begin(s) + found[s][i].number]);
        places.push_back(found[s][i].place);
        to.push_back(rows + (begins[s] + i) * width);
      }
    }
    if (!keys.empty()) needing.get(t, keys.data(), places.data(), keys.size(), to.data());
  }
  batch.for_each_part([&](std::size_t part) {
    if (!found[part].empty()) take_up(batch, part, found[part], rows + begins[part] * width);
    float* const* const own = batch.rows() + batch.begin(part);
    if (insert && std::find(own, own + batch.distinct(part), nullptr) != own + batch.distinct(part)) {
      store_.insert_part(batch, part);
    }
    const WriteLock lock(state().shards[part]->mutex);
    store_.stamp_part(batch, part, stamp);
  });
}

// Where the keys of a part are that were not in memory: in memory, if another batch has moved them up since, or below.
void Tiers::find_below(Batch& batch, std::size_t part, std::vector<Below>& found) const {
  const Shard& shard = *state().shards[part];
  const std::int64_t* const keys = batch.keys() + batch.begin(part);
  float** const rows = batch.rows() + batch.begin(part);
  std::vector<std::uint32_t> missing;
  const ReadLock lock(shard.mutex);
  for (std::uint32_t i = 0; i < batch.distinct(part); ++i) {
    if (rows[i] != nullptr) continue;
    missing.push_back(i);
    static_cast<void>(shard.lower.front().prefetch(hash_key(keys[i])));
  }
  for (const std::uint32_t i : missing) {
    rows[i] = shard.find(hash_key(keys[i]), keys[i]);
    for (std::uint32_t t = 0; t < shard.lower.size() && rows[i] == nullptr; ++t) {
      const Slot place = shard.lower[t].find(hash_key(keys[i]), keys[i]);
      if (place == kAbsent) continue;
      found.push_back({i, t, place});
      break;
    }
  }
}

// Inserts rows that were read into memory and drops their old places.
void Tiers::take_up(Batch& batch, std::size_t part, const std::vector<Below>& found, const float* rows) {
  Shard& shard = *state().shards[part];
  const RowLayout& layout = state().layout;
  std::vector<std::vector<std::int64_t>> keys(shard.lower.size());
  std::vector<std::vector<Slot>> places(shard.lower.size());
  for (std::size_t t = 0; t < shard.lower.size(); ++t) {
    keys[t].reserve(found.size());
    places[t].reserve(found.size());
  }
  {
    const WriteLock lock(shard.mutex);
    shard.reserve(found.size());
    for (const Below& one : found) {
      const std::uint64_t hash = hash_key(batch.keys()[batch.begin(part) + one.number]);
      static_cast<void>(shard.index.prefetch(hash));
      static_cast<void>(shard.lower[one.tier].prefetch(hash));
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::int64_t key = batch.keys()[batch.begin(part) + found[i].number];
      const std::uint64_t hash = hash_key(key);
      float*& row = batch.rows()[batch.begin(part) + found[i].number];
      row = shard.find(hash, key);
      if (row != nullptr) continue;  // another batch moved it up
      row = shard.insert_empty(hash, key, layout);
      std::memcpy(row, rows + i * layout.stride(), layout.stride() * sizeof(float));
      keys[found[i].tier].push_back(key);
      places[found[i].tier].push_back(shard.lower[found[i].tier].erase(hash, key));
    }
  }
  for (std::size_t t = 0; t < keys.size(); ++t)
    state().lower[t]->drop(keys[t].data(), places[t].data(), keys[t].size());
}

void Tiers::wait_for_room() {
  bool crowded = storage_failed_;
  if (!crowded) {
    const ReadLock lock(store_.structure());
    const std::size_t capacity = capacity_of(0);
    crowded = rows_held() > capacity + capacity / 4 + kSlack;
  }
  if (crowded) trim(true);
}

bool Tiers::way_made() {
  try {
    make_way();
  } catch (const StorageFailed&) {
    return false;
  }
  return true;
}

void Tiers::lower_if_crowded() {
  {
    const ReadLock lock(store_.structure());
    const std::size_t capacity = capacity_of(0);
    const std::size_t rows = rows_held();
    if (rows <= capacity) return;
    // Rows that moved up for a batch move down after its update; searching for others now would find few.
    if (rows <= capacity + capacity / 8 + kSlack / 4 && recent_.awaited() != RecentBatches::kNoBatch) return;
  }
  sweeper::threads() == 0 ? tend() : sweeper::ask(*this);
}

void Tiers::after_replacement() {
  if (tiered()) sweeper::threads() == 0 ? tend() : sweeper::ask(*this);
}

// The next call that needs the tiers gets the failure, which `trim` has recorded.
void Tiers::tend() noexcept {
  try {
    trim(false);
  } catch (...) {  // reported later
  }
}

void Tiers::drain() {
  if (tiered()) trim(true);
}

void Tiers::prefetch(std::vector<std::int64_t> keys) {
  if (prefetches() && !keys.empty()) prefetcher_->add(std::move(keys));
}

std::size_t Tiers::rows_held() const { return store_.rows_in_memory() + state().staged->size(); }

void Tiers::tiers_of(const std::int64_t* keys, std::size_t count, std::int32_t* out) const {
  const ReadLock lock(store_.structure());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t hash = hash_key(keys[i]);
    const Shard& shard = state().of_part(shard_of(hash));
    const ReadLock shard_lock(shard.mutex);
    out[i] = shard.find(hash, keys[i]) != nullptr ? 0 : -1;
    for (std::size_t t = 0; t < shard.lower.size() && out[i] < 0; ++t) {
      if (shard.lower[t].find(hash, keys[i]) != kAbsent) out[i] = static_cast<std::int32_t>(t + 1);
    }
  }
}

std::vector<TierStatus> Tiers::status() const {
  std::vector<TierStatus> result;
  if (!tiered()) return result;
  const ReadLock lock(store_.structure());
  TierUse above;
  above.rows = store_.rows_in_memory();
  above.memory_bytes = above.rows * state().layout.stride() * sizeof(float) + state().staged->bytes();
  for (const auto& shard : state().shards) {
    const ReadLock shard_lock(shard->mutex);
    above.memory_bytes += shard->index.bytes();
  }
  result.push_back({Medium::memory, capacity_of(0), hits_[0], above, 0, state().staged->unused()});
  for (std::size_t t = 0; t < state().lower.size(); ++t) {
    TierUse use = state().lower[t]->use();
    for (const auto& shard : state().shards) {
      const ReadLock shard_lock(shard->mutex);
      use.memory_bytes += shard->lower[t].bytes();
    }
    const std::uint64_t bytes = config_.tiers[t + 1].bytes;
    result.push_back(
        {config_.tiers[t + 1].medium, bytes == 0 ? 0 : capacity_of(t + 1), hits_[1 + t], use, prefetched_[1 + t], 0});
  }
  return result;
}

}  // namespace recmigrate
