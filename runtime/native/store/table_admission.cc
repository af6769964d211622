// Admission and eviction: which keys get a row, and which lose it.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "store/errors.h"
#include "store/hash.h"
#include "store/parallel.h"
#include "store/row.h"
#include "store/table.h"

namespace recmigrate {
namespace {

// Whether a row may be read: its count is 0, and stays so, when it did not come by counting.
bool often_enough(std::uint32_t count, std::int64_t threshold) noexcept { return count == 0 || count >= threshold; }

void raise(std::atomic<std::int64_t>& newest, std::int64_t now) noexcept {
  std::int64_t known = newest;
  while (known < now && !newest.compare_exchange_weak(known, now)) {
  }
}

std::uint32_t occurrences_of(const Admission& admission) noexcept {
  return admission.frozen ? 0U : static_cast<std::uint32_t>(admission.coefficient);
}

}  // namespace

// Distinct keys of a part by number: what each adds up to, those that are to be inserted, those that go on waiting.
struct Table::Judged {
  std::vector<std::uint32_t> counts;
  std::vector<std::uint32_t> inserted;
  std::vector<std::uint32_t> waiting;
};

void Table::check(const Admission& admission) const {
  const std::string owner = "table '" + name() + "'";
  if (admission.threshold < 0 || admission.threshold > 0x7fffffff) {
    fail_invalid(owner + " has an access threshold of " + std::to_string(admission.threshold) +
                 "; it must be 0 to 2147483647");
  }
  if (admission.coefficient < 1 || admission.coefficient > 0x7fffffff) {
    fail_invalid(owner + " counts an occurrence " + std::to_string(admission.coefficient) +
                 " times; it must be 1 to 2147483647");
  }
  if (admission.now < kNever || admission.now > kLatestTime) {
    fail_invalid(owner + " got the time " + std::to_string(admission.now) +
                 "; it must be 0 to 4294967294, in seconds or steps");
  }
  if (admission.bloom.max_elements != 0) admission.bloom.check(owner);
}

// What a look-up asks for, with the threshold that replaces its own.
Admission Table::in_force(Admission admission) const {
  const std::int64_t replaced = state_->threshold;
  admission.frozen = state_->frozen || (replaced < 0 && admission.threshold == 0);
  if (replaced >= 0) admission.threshold = replaced;
  if (admission.bloom.max_elements == 0) return admission;
  if (admission.threshold > (std::int64_t{1} << admission.bloom.counter_bits) - 1) {
    fail_invalid("table '" + name() + "' has an access threshold of " + std::to_string(admission.threshold) +
                 ", which Bloom counters of " + std::to_string(admission.bloom.counter_bits) +
                 " bits never reach; give them more bits");
  }
  return admission;
}

bool Table::tracks(const BloomConfig& bloom) const noexcept {
  return (state_->layout.present & kSeenCells) == kSeenCells && state_->bloom == bloom;
}

// Calls body() under `structure_` once the table counts as a look-up asks. As `with_slots`, it waits for one snapshot
// at most.
template <typename Body>
void Table::with_counters(const BloomConfig& bloom, const Body& body) {
  {
    const ReadLock lock(structure_);
    if (tracks(bloom)) return body();
  }
  const Maintenance maintenance(maintenance_);
  if (!tracks(bloom)) {
    const WriteLock lock(structure_);
    track(bloom);
  }
  const ReadLock lock(structure_);
  body();
}

// Gives the rows their cells and the shards their filters; what another filter counted is lost. The caller holds
// `maintenance_` and `structure_`.
void Table::track(const BloomConfig& bloom) {
  RowLayout after = state_->layout;
  after.present |= kSeenCells;
  if (after == state_->layout && state_->bloom == bloom) return;
  require_room(after, bloom);
  const Recount recount(*this);
  if (!(state_->bloom == bloom)) {
    std::vector<std::unique_ptr<CountingBloom>> fresh(kShards);
    for (auto& filter : fresh) {
      if (bloom.max_elements != 0) filter = std::make_unique<CountingBloom>(bloom, kShards);
    }
    if (state_->bloom.max_elements != 0) {
      std::fprintf(stderr, "recmigrate: the Bloom filter of table '%s' has other settings now and counts anew\n",
                   name().c_str());
    }
    for (std::size_t s = 0; s < kShards; ++s) state_->shards[s]->bloom = std::move(fresh[s]);
    state_->bloom = bloom;
  }
  if (!(after == state_->layout)) widen(after, true, state_->starts);
}

void Table::lookup_and_admit(const std::int64_t* keys, std::size_t count, const Admission& admission, float* out,
                             bool* admitted) {
  check(admission);
  make_way();
  with_room([&] {
    with_counters(admission.bloom, [&] { count_and_admit(keys, count, in_force(admission), out, admitted); });
  });
  after_use();
}

// The table counts as the rules say; `structure_` is held.
void Table::count_and_admit(const std::int64_t* keys, std::size_t count, const Admission& rules, float* out,
                            bool* admitted) {
  const std::uint32_t warmed = warm(keys, count);
  raise(state_->newest, rules.now);
  const auto seen = static_cast<std::uint32_t>(state_->newest + 1);
  const std::uint32_t stamp = tiered() ? warmed : next_stamp();
  std::atomic<bool> all{true};
  Demand demand;
  std::unique_lock<std::mutex> filling = limited() ? std::unique_lock(filling_) : std::unique_lock<std::mutex>();
  Batch batch(keys, count, IdKind::key, [&](Batch& part_of, std::size_t part) {
    if (limited()) {
      demand_part(part_of, part, rules, stamp, demand);
    } else {
      admit_part(part_of, part, rules, seen, stamp);
    }
  });
  if (limited()) {
    const Booking booking(*this, demand, stamp);
    batch.for_each_part([&](std::size_t part) { admit_part(batch, part, rules, seen, stamp); });
  }
  if (filling) filling.unlock();  // before `steps_`, which others hold when they ask for it
  if (out == nullptr) return;
  const StepsGuard steps(*this);
  batch.for_each_part([&](std::size_t part) {
    const ReadLock shard_lock(state_->shards[part]->mutex);
    const std::size_t begin = batch.begin(part);
    for (std::size_t i = begin; i < begin + batch.ids(part); ++i) {
      const std::size_t to = batch.positions()[i];
      float* const row = batch.rows()[begin + batch.numbers()[i]];
      admitted[to] = row != nullptr;
      if (row != nullptr) {
        read_row(row, out + to * dim_);
      } else {
        std::fill_n(out + to * dim_, dim_, 0.0F);
        all = false;
      }
    }
  });
  batch.set_stamp(stamp);
  if (all) remember(keys, std::move(batch));
}

// Nothing is changed here, so that what can fail fails before the first count moves. Rows are filled in.
Table::Judged Table::judge(const Shard& shard, const Batch& batch, std::size_t part, const Admission& admission) const {
  const std::size_t begin = batch.begin(part);
  Judged judged{std::vector<std::uint32_t>(batch.distinct(part)), {}, {}};
  for (std::size_t i = begin; i < begin + batch.ids(part); ++i) ++judged.counts[batch.numbers()[i]];
  for (std::uint32_t i = 0; i < judged.counts.size(); ++i) {
    if (batch.rows()[begin + i] != nullptr) continue;
    const std::int64_t key = batch.keys()[begin + i];
    const std::uint64_t hash = hash_key(key);
    const std::uint32_t known = shard.bloom ? shard.bloom->count(hash) : shard.sightings.find(hash, key).count;
    const std::uint32_t count = add_saturated(known, std::uint64_t{judged.counts[i]} * occurrences_of(admission));
    const bool enough = count >= admission.threshold;
    (enough ? judged.inserted : judged.waiting).push_back(i);
  }
  return judged;
}

// The rows that a part's keys have; the shard is locked.
void Table::find_part(Batch& batch, std::size_t part) const noexcept {
  const RowLayout& layout = state_->layout;
  const std::int64_t* const keys = batch.keys() + batch.begin(part);
  float** const rows = batch.rows() + batch.begin(part);
  std::uint8_t shards[kBlock];
  for (std::size_t at = 0; at < batch.distinct(part); at += kBlock) {
    const std::size_t some = std::min(kBlock, batch.distinct(part) - at);
    find_block(keys + at, some, rows + at, shards);
    for (std::size_t i = at; i < at + some; ++i) {
      if (rows[i] != nullptr) __builtin_prefetch(rows[i] + layout.cells_at(), 1);
    }
  }
}

// What `admit_part` will take; nothing is counted yet.
void Table::demand_part(Batch& batch, std::size_t part, const Admission& admission, std::uint32_t stamp,
                        Demand& demand) {
  const Shard& shard = *state_->shards[part];
  const WriteLock lock(shard.mutex);
  find_part(batch, part);
  stamp_part(batch, part, stamp);
  const Judged judged = judge(shard, batch, part, admission);
  const bool counts = shard.bloom == nullptr && !config_.evicts;
  const std::size_t counters = counts ? shard.sightings.bytes_for(judged.waiting.size()) - shard.sightings.bytes() : 0;
  demand.set(shard, part, judged.inserted.size(), counters, state_->layout);
}

// Counts the keys of a part; afterwards those that are admitted have rows and the others null.
void Table::admit_part(Batch& batch, std::size_t part, const Admission& admission, std::uint32_t seen,
                       std::uint32_t stamp) {
  Shard& shard = *state_->shards[part];
  const RowLayout& layout = state_->layout;
  const std::int64_t* const keys = batch.keys() + batch.begin(part);
  float** const rows = batch.rows() + batch.begin(part);
  const WriteLock lock(shard.mutex);
  find_part(batch, part);
  const Judged judged = judge(shard, batch, part, admission);
  require_places(shard, judged.inserted.size());
  const Growth growth(*this, shard);
  const bool forgets = !shard.bloom && !has_room_to_count(shard, judged.waiting.size());
  if (!shard.bloom && !forgets) shard.sightings.reserve(judged.waiting.size());
  shard.reserve(judged.inserted.size());
  save_part(batch, part);

  const auto more = [&](std::uint32_t i) { return std::uint64_t{judged.counts[i]} * occurrences_of(admission); };
  for (std::uint32_t i = 0; i < batch.distinct(part); ++i) {
    if (rows[i] == nullptr) continue;
    std::uint32_t count = layout.read(rows[i], Cell::count);
    if (count != 0) count = add_saturated(count, more(i));
    layout.write(rows[i], Cell::count, count);
    layout.write(rows[i], Cell::last_seen, std::max(seen, layout.read(rows[i], Cell::last_seen)));
    if (!often_enough(count, admission.threshold)) rows[i] = nullptr;
  }
  const auto count_key = [&](std::uint32_t i) {
    const std::uint64_t hash = hash_key(keys[i]);
    if (shard.bloom) return shard.bloom->add(hash, more(i));
    return add_saturated(shard.sightings.find(hash, keys[i]).count, more(i));
  };
  for (const std::uint32_t i : judged.inserted) {
    const std::uint32_t count = count_key(i);
    rows[i] = shard.insert(hash_key(keys[i]), keys[i], layout, new_row());
    layout.write(rows[i], Cell::count, count);
    layout.write(rows[i], Cell::last_seen, seen);
  }
  if (forgets) shard.sightings.thin(judged.waiting.size());
  for (const std::uint32_t i : judged.waiting) {
    const std::uint64_t hash = hash_key(keys[i]);
    const bool kept = !shard.bloom && (shard.sightings.size() < shard.sightings.most() || !forgets);
    const std::uint32_t count = count_key(i);
    if (kept && count != 0) shard.sightings.put(hash, keys[i], {count, seen});
  }
  stamp_part(batch, part, stamp);
}

void Table::lookup_admitted(const std::int64_t* keys, std::size_t count, std::int64_t threshold, float* out,
                            bool* admitted) {
  const bool moves = way_made();
  const ReadLock lock(structure_);
  if (moves) warm(keys, count);
  const std::int64_t replaced = state_->threshold;
  const std::int64_t least = replaced >= 0 ? replaced : threshold;
  const StepsGuard steps(*this);
  const ReadGuard guard(*state_, shards_of(keys, count));
  parallel::ranges(count, kRowGrain, [&](std::size_t begin, std::size_t end) {
    float* rows[kBlock];
    std::uint8_t shards[kBlock];
    std::vector<float> copy;
    for (std::size_t at = begin; at < end; at += kBlock) {
      const std::size_t some = std::min(kBlock, end - at);
      find_block(keys + at, some, rows, shards);
      for (std::size_t i = 0; i < some; ++i) {
        const float* const row = found_or_below(rows[i], shards[i], keys[at + i], copy);
        const bool counted = row != nullptr && state_->layout.has(Cell::count);
        admitted[at + i] = row != nullptr && (!counted || often_enough(state_->layout.read(row, Cell::count), least));
        if (admitted[at + i]) {
          read_row(row, out + (at + i) * dim_);
        } else {
          std::fill_n(out + (at + i) * dim_, dim_, 0.0F);
        }
      }
    }
  });
}

void Table::set_threshold(std::int64_t threshold) {
  if (threshold < 0 || threshold > 0x7fffffff) {
    fail_invalid("the access threshold of table '" + name() + "' is to be " + std::to_string(threshold) +
                 "; it must be 1 to 2147483647, or 0 to stop counting");
  }
  const Maintenance maintenance(maintenance_);
  const WriteLock lock(structure_);
  track(state_->bloom);  // what does not count has nothing to keep the threshold with
  if (threshold > 0) state_->threshold = threshold;
  state_->frozen = threshold == 0;
}

std::size_t Table::evict_unseen(std::int64_t age, std::int64_t now) {
  if (age < 0 || now < kNever || now > kLatestTime) {
    fail_invalid("keys of table '" + name() + "' that were not seen for " + std::to_string(age) + " at " +
                 std::to_string(now) + " cannot be evicted; both must be 0 or more, and the time at most 4294967294");
  }
  const Maintenance maintenance(maintenance_);
  const WriteLock lock(structure_);
  const Recount recount(*this);
  const RowLayout& layout = state_->layout;
  const std::int64_t present = now == kNever ? state_->newest.load() : now;
  if (!layout.has(Cell::last_seen) || present == kNever) {
    fail_invalid("table '" + name() + "' does not know when its keys were seen; give its training lookups a time");
  }
  const auto stamp = static_cast<std::uint32_t>(present + 1);
  std::atomic<bool> unseen{false};  // rows below that were never seen
  parallel::run(kShards, [&](std::size_t s) {
    visit_below(s, [&](std::int64_t, const float* row) {
      if (layout.read(row, Cell::last_seen) == 0) unseen = true;
    });
  });
  if (unseen) {
    take_over(rebuilt_below(layout, [&](float* row, const float* was) {
      std::copy_n(was, layout.stride(), row);
      if (layout.read(row, Cell::last_seen) == 0) layout.write(row, Cell::last_seen, stamp);
    }));
  }
  const auto old = [&](std::uint32_t last_seen) { return std::int64_t{stamp} - last_seen >= age; };
  std::vector<std::vector<std::int64_t>> keys(kShards);
  std::atomic<std::size_t> removed{0};
  parallel::run(kShards, [&](std::size_t s) {
    Shard& shard = *state_->shards[s];
    shard.index.for_each([&](std::int64_t key, Slot slot) {
      float* const row = shard.rows.row(slot);
      if (layout.read(row, Cell::last_seen) == 0) layout.write(row, Cell::last_seen, stamp);
      if (old(layout.read(row, Cell::last_seen))) keys[s].push_back(key);
    });
    visit_below(s, [&](std::int64_t key, const float* row) {
      if (old(layout.read(row, Cell::last_seen))) keys[s].push_back(key);
    });
    shard.sightings.for_each([&](std::int64_t key, const Sighting& seen) {
      if (seen.last_seen != 0 && old(seen.last_seen)) keys[s].push_back(key);
    });
  });
  ++epoch_;
  parallel::run(kShards,
                [&](std::size_t s) { removed += remove_from(*state_->shards[s], keys[s].data(), keys[s].size()); });
  if (removed != 0) state_->thinned = true;
  evicted_ += removed;
  return removed;
}

std::size_t Table::evict_light(float least) {
  const std::size_t removed = remove_if([&](std::int64_t, const float* row) {
    std::vector<float> value;
    if (state_->steps) {
      value.resize(dim_);
      read_row(row, value.data());
      row = value.data();
    }
    float sum = 0;
    for (std::size_t i = 0; i < dim_; ++i) sum += row[i] * row[i];
    if (!(0.5F * sum < least)) return false;
    state_->thinned = true;
    return true;
  });
  evicted_ += removed;
  return removed;
}

// What a checkpoint keeps besides the cells of rows; those come with the snapshot.
void Table::add_seen(SeenKeys& seen) const {
  if ((state_->layout.present & kSeenCells) != kSeenCells) return;
  seen.tracked = true;
  seen.newest = state_->newest;
  seen.layout = state_->layout;
  seen.bloom = state_->bloom;
  seen.threshold = state_->threshold;
  seen.frozen = state_->frozen;
  for (const auto& shard : state_->shards) {
    shard->sightings.for_each([&seen](std::int64_t key, const Sighting& sighting) {
      seen.keys.push_back(key);
      seen.sightings.push_back(sighting);
    });
    if (!shard->bloom) continue;
    const auto& counters = shard->bloom->counters();
    seen.counters.insert(seen.counters.end(), counters.begin(), counters.end());
  }
}

void Table::require_counters(const SeenKeys& seen) const {
  if (!seen.tracked || seen.bloom.max_elements == 0) return;
  if (seen.counters.size() >= kShards * CountingBloom::bytes_of(seen.bloom, kShards)) return;
  fail_invalid("the Bloom counters for table '" + name() + "' are damaged; restore another checkpoint");
}

// Takes over the counters of a checkpoint, which `require_counters` let pass.
void Table::restore_seen(State& state, const SeenKeys& seen) const {
  if (!seen.tracked) return;
  state.newest = seen.newest;
  state.threshold = seen.threshold;
  state.frozen = seen.frozen;
  const Batch batch(seen.keys.data(), seen.keys.size(), IdKind::key, [](Batch&, std::size_t) {});
  batch.for_each_part([&](std::size_t part) {
    Shard& shard = *state.shards[part];
    for (std::size_t i = batch.begin(part); i < batch.begin(part) + batch.ids(part); ++i) {
      const std::int64_t key = seen.keys[batch.positions()[i]];
      const Sighting& sighting = seen.sightings[batch.positions()[i]];
      float* const row = shard.find(hash_key(key), key);
      if (row != nullptr) {
        state.layout.write(row, Cell::count, sighting.count);
        state.layout.write(row, Cell::last_seen, sighting.last_seen);
        if (state.layout.has(Cell::uses)) {  // so that the rows used most lie in memory from the start
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
  state.bloom = seen.bloom;
}

}  // namespace recmigrate
