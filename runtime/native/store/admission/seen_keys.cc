// Eviction: which keys lose their row; and data about keys.
#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "store/admission/admission_control.h"
#include "store/errors.h"
#include "store/hash.h"
#include "store/parallel.h"

namespace recmigrate {

void AdmissionControl::set_threshold(std::int64_t threshold) {
  if (threshold < 0 || threshold > 0x7fffffff) {
    fail_invalid("the access threshold of table '" + name() + "' is to be " + std::to_string(threshold) +
                 "; it must be 1 to 2147483647, or 0 to stop counting");
  }
  const Maintenance maintenance(store_.maintenance());
  const WriteLock lock(store_.structure());
  track(state().counting.bloom);  // a table that does not count has no place to store the threshold
  if (threshold > 0) state().counting.threshold = threshold;
  state().counting.frozen = threshold == 0;
}

std::size_t AdmissionControl::evict_unseen(std::int64_t age, std::int64_t now) {
  if (age < 0 || now < kNever || now > kLatestTime) {
    fail_invalid("keys of table '" + name() + "' that were not seen for " + std::to_string(age) + " at " +
                 std::to_string(now) + " cannot be evicted; both must be 0 or more, and the time at most 4294967294");
  }
  const Maintenance maintenance(store_.maintenance());
  const WriteLock lock(store_.structure());
  const Recount recount(store_);
  const RowLayout& layout = state().layout;
  const std::int64_t present = now == kNever ? state().counting.newest.load() : now;
  if (!layout.has(Cell::last_seen) || present == kNever) {
    fail_invalid("table '" + name() +
                 "' does not know when its keys were looked up; give its training lookups the time or the step");
  }
  const auto stamp = static_cast<std::uint32_t>(present + 1);
  std::atomic<bool> unseen{false};  // there are rows below that were never seen
  parallel::run(kShards, [&](std::size_t s) {
    visit_below(state(), s, [&](std::int64_t, const float* row) {
      if (layout.read(row, Cell::last_seen) == 0) unseen = true;
    });
  });
  if (unseen) {
    take_over(state(), store_.rebuilt_below(layout, [&](float* row, const float* was) {
      std::copy_n(was, layout.stride(), row);
      if (layout.read(row, Cell::last_seen) == 0) layout.write(row, Cell::last_seen, stamp);
    }));
  }
  const auto old = [&](std::uint32_t last_seen) { return std::int64_t{stamp} - last_seen >= age; };
  std::vector<std::vector<std::int64_t>> keys(kShards);
  parallel::run(kShards, [&](std::size_t s) {
    Shard& shard = *state().shards[s];
    shard.for_each([&](std::int64_t key, Slot slot) {
      float* const row = shard.row(slot);
      if (layout.read(row, Cell::last_seen) == 0) layout.write(row, Cell::last_seen, stamp);
      if (old(layout.read(row, Cell::last_seen))) keys[s].push_back(key);
    });
    visit_below(state(), s, [&](std::int64_t key, const float* row) {
      if (old(layout.read(row, Cell::last_seen))) keys[s].push_back(key);
    });
    shard.sightings.for_each([&](std::int64_t key, const Sighting& seen) {
      if (seen.last_seen != 0 && old(seen.last_seen)) keys[s].push_back(key);
    });
  });
  return limit_.evict(keys);
}

std::size_t AdmissionControl::evict_light(float least) {
  const std::size_t removed = store_.remove_if([&](std::int64_t, const float* row) {
    std::vector<float> value;
    if (!store_.plain()) {
      value.resize(dim_);
      store_.read_row(row, value.data());
      row = value.data();
    }
    float sum = 0;
    for (std::size_t i = 0; i < dim_; ++i) sum += row[i] * row[i];
    if (!(0.5F * sum < least)) return false;
    state().thinned = true;
    return true;
  });
  store_.add_evicted(removed);
  return removed;
}

void AdmissionControl::sightings(const std::int64_t* keys, std::size_t count, std::int64_t* counts,
                                 std::int64_t* times) const {
  const ReadLock lock(store_.structure());
  const ReadGuard guard(state(), shards_of(keys, count));
  const RowLayout& layout = state().layout;
  const bool counted = layout.has(Cell::count) && layout.has(Cell::last_seen);
  parallel::ranges(count, kRowGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<float> copy;
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint64_t hash = hash_key(keys[i]);
      const Shard& shard = state().of_part(shard_of(hash));
      Sighting seen;
      if (const float* const row = row_in_any_tier(state(), shard, hash, keys[i], copy); row != nullptr) {
        if (counted) seen = {layout.read(row, Cell::count), layout.read(row, Cell::last_seen)};
      } else if (shard.bloom) {
        seen.count = shard.bloom->count(hash);
      } else {
        seen = shard.sightings.find(hash, keys[i]);
      }
      counts[i] = seen.count;
      times[i] = seen.last_seen == 0 ? kNever : std::int64_t{seen.last_seen} - 1;
    }
  });
}

std::size_t AdmissionControl::waiting() const {
  const ReadLock lock(store_.structure());
  std::size_t count = 0;
  for (const auto& shard : state().shards) {
    const ReadLock shard_lock(shard->mutex);
    count += shard->sightings.size();
  }
  return count;
}

void AdmissionControl::add_seen(SeenKeys& seen) const {
  if ((state().layout.present & kSeenCells) != kSeenCells) return;
  seen.tracked = true;
  seen.newest = state().counting.newest;
  seen.layout = state().layout;
  seen.bloom = state().counting.bloom;
  seen.threshold = state().counting.threshold;
  seen.frozen = state().counting.frozen;
  for (const auto& shard : state().shards) {
    shard->sightings.for_each([&seen](std::int64_t key, const Sighting& sighting) {
      seen.keys.push_back(key);
      seen.sightings.push_back(sighting);
    });
    if (!shard->bloom) continue;
    const auto& counters = shard->bloom->counters();
    seen.counters.insert(seen.counters.end(), counters.begin(), counters.end());
  }
}

void AdmissionControl::require_counters(const SeenKeys& seen) const {
  if (!seen.tracked || seen.bloom.max_elements == 0) return;
  if (seen.counters.size() >= kShards * CountingBloom::bytes_of(seen.bloom, kShards)) return;
  fail_invalid("the Bloom counters for table '" + name() + "' are damaged; restore another checkpoint");
}

void AdmissionControl::restore_seen(State& state, const SeenKeys& seen) const {
  if (!seen.tracked) return;
  state.counting.newest = seen.newest;
  state.counting.threshold = seen.threshold;
  state.counting.frozen = seen.frozen;
  const Batch batch(seen.keys.data(), seen.keys.size(), IdKind::key, [](Batch&, std::size_t) {});
  batch.for_each_part([&](std::size_t part) {
    Shard& shard = state.of_part(part);
    for (std::size_t i = batch.begin(part); i < batch.begin(part) + batch.ids(part); ++i) {
      const std::int64_t key = seen.keys[batch.positions()[i]];
      const Sighting& sighting = seen.sightings[batch.positions()[i]];
      float* const row = shard.find(hash_key(key), key);
      if (row != nullptr) {
        state.layout.write(row, Cell::count, sighting.count);
        state.layout.write(row, Cell::last_seen, sighting.last_seen);
        if (state.layout.has(Cell::uses)) {  // so that the most used rows are in memory from the start
          state.layout.write(row, Cell::uses, std::max(state.layout.read(row, Cell::uses), sighting.count));
        }
      } else if (sighting.count != 0) {
        shard.sightings.reserve(1);
        shard.sightings.put(hash_key(key), key, sighting);
      }
    }
  });
  if (seen.bloom.max_elements == 0) return;
  std::size_t at = 0;
  for (const auto& shard : state.shards) {
    auto filter = std::make_unique<CountingBloom>(seen.bloom, kShards);
    filter->set_counters(seen.counters.data() + at);
    at += filter->bytes();
    shard->bloom = std::move(filter);
  }
  state.counting.bloom = seen.bloom;
}

}  // namespace recmigrate
