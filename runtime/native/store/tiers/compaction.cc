// Compaction of the tiers below memory: rewrites live rows of parts that are mostly dead.
#include <algorithm>
#include <vector>

#include "store/errors.h"
#include "store/hash.h"
#include "store/tiers/tiers.h"

namespace recmigrate {

// The caller holds `maintenance`.
void Tiers::compact_tiers(bool scarce) {
  for (std::size_t t = 0; t < state().lower.size(); ++t) {
    while (move_segment(t, scarce)) {
    }
  }
}

// In steps: rows can move down and snapshots can begin in between.
void Tiers::compact_in_background() noexcept {
  try {
    for (std::size_t t = 0; t + 1 < config_.tiers.size(); ++t) {
      for (bool more = true; more;) {
        const Maintenance maintenance(store_.maintenance());
        more = move_segment(t, false);
      }
    }
  } catch (...) {
    storage_failed_ = true;
  }
}

// Rewrites the part of a tier with most dead rows, if that is worth it. The caller holds `maintenance`.
bool Tiers::move_segment(std::size_t tier, bool scarce) {
  LowerTier& below = *state().lower[tier];
  StoredRows found;
  if (!below.worth_moving(found, scarce)) return false;
  const std::size_t width = state().layout.stride();
  std::vector<std::vector<std::size_t>> parts(kShards);
  for (std::size_t i = 0; i < found.keys.size(); ++i) parts[shard_of(hash_key(found.keys[i]))].push_back(i);
  const auto lives = [&](const Shard& shard, std::size_t i) {
    return shard.lower[tier].find(hash_key(found.keys[i]), found.keys[i]) == found.places[i];
  };
  std::vector<std::int64_t> keys;
  std::vector<const float*> rows;
  for (std::size_t s = 0; s < kShards; ++s) {
    const Shard& shard = *state().shards[s];
    const ReadLock lock(shard.mutex);
    for (const std::size_t i : parts[s]) static_cast<void>(shard.lower[tier].prefetch(hash_key(found.keys[i])));
    parts[s].erase(std::remove_if(parts[s].begin(), parts[s].end(), [&](std::size_t i) { return !lives(shard, i); }),
                   parts[s].end());
    for (const std::size_t i : parts[s]) {
      keys.push_back(found.keys[i]);
      rows.push_back(&found.rows[i * width]);
    }
  }
  std::vector<Slot> fresh(keys.size());
  below.put(keys.data(), rows.data(), keys.size(), fresh.data());
  std::vector<Slot> dead;
  dead.reserve(keys.size());
  for (std::size_t s = 0; s < kShards; ++s) {
    Shard& shard = *state().shards[s];
    const WriteLock lock(shard.mutex);
    for (const std::size_t i : parts[s]) {
      const Slot place = fresh[dead.size()];
      const bool moves = lives(shard, i);  // it may have moved up meanwhile
      if (moves) {
        shard.lower[tier].erase(hash_key(found.keys[i]), found.keys[i]);
        shard.lower[tier].insert(hash_key(found.keys[i]), found.keys[i], place);
      }
      dead.push_back(moves ? found.places[i] : place);
    }
  }
  below.drop(keys.data(), dead.data(), keys.size());
  below.flush();
  const WriteLock lock(store_.structure());
  below.settle();
  return true;
}

}  // namespace recmigrate
