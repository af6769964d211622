// Compaction of the tiers below memory: what lives in parts that are mostly dead is written anew.
#include "store/errors.h"
#include "store/hash.h"
#include "store/table.h"

namespace recmigrate {

// The caller holds `maintenance_`.
void Table::compact_tiers(bool scarce) {
  for (std::size_t t = 0; t < state_->lower.size(); ++t) {
    while (move_segment(t, scarce)) {
    }
  }
}

// Step by step: rows go down and snapshots begin in between.
void Table::compact_in_background() noexcept {
  try {
    for (std::size_t t = 0; t + 1 < config_.tiers.size(); ++t) {
      for (bool more = true; more;) {
        const std::lock_guard<std::mutex> one(trimming_);
        const Maintenance maintenance(maintenance_);
        more = move_segment(t, false);
      }
    }
  } catch (...) {
    storage_failed_ = true;
  }
}

// Writes the part of a tier anew of which most is dead, if that is worth it. The caller holds `maintenance_`.
bool Table::move_segment(std::size_t tier, bool scarce) {
  LowerTier& below = *state_->lower[tier];
  StoredRows found;
  if (!below.worth_moving(found, scarce)) return false;
  const std::size_t width = state_->layout.stride();
  for (std::size_t i = 0; i < found.keys.size(); ++i) {
    const std::int64_t key = found.keys[i];
    const std::uint64_t hash = hash_key(key);
    Shard& shard = *state_->shards[shard_of(hash)];
    {
      const ReadLock lock(shard.mutex);
      if (shard.lower[tier].find(hash, key) != found.places[i]) continue;
    }
    const float* const row = &found.rows[i * width];
    Slot fresh = kAbsent;
    below.put(&key, &row, 1, &fresh);
    Slot old = fresh;
    {
      const WriteLock lock(shard.mutex);
      if (shard.lower[tier].find(hash, key) == found.places[i]) {  // it may have come up meanwhile
        old = shard.lower[tier].erase(hash, key);
        shard.lower[tier].insert(hash, key, fresh);
      }
    }
    below.drop(&key, &old, 1);
  }
  below.flush();
  const WriteLock lock(structure_);
  below.settle();
  return true;
}

}  // namespace recmigrate
