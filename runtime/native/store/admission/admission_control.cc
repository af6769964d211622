// Admission: which keys get a row.
#include "store/admission/admission_control.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "store/admission/chance.h"
#include "store/errors.h"
#include "store/hash.h"
#include "store/notices.h"
#include "store/rows/row.h"

namespace recmigrate {
namespace {

// Whether a row may be read; its count is 0, and stays 0, if it was not created by counting.
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

// Distinct keys of a part, by number: the count to add to each, those to insert, and those that keep waiting.
struct AdmissionControl::Judged {
  std::vector<std::uint32_t> counts;
  std::vector<std::uint32_t> inserted;
  std::vector<std::uint32_t> waiting;
};

void AdmissionControl::check(const Admission& admission) const {
  const std::string owner = "table '" + name() + "'";
  if (admission.threshold < 0 || admission.threshold > 0x7fffffff) {
    fail_invalid(owner + " has an access threshold of " + std::to_string(admission.threshold) +
                 "; it must be 0 to 2147483647");
  }
  if (admission.coefficient < 1 || admission.coefficient > 0x7fffffff) {
    fail_invalid(owner + " counts an occurrence " + std::to_string(admission.coefficient) +
                 " times; it must be 1 to 2147483647");
  }
  if (!(admission.probability > 0.0) || admission.probability > 1.0) {
    fail_invalid(owner + " admits keys with a probability of " + std::to_string(admission.probability) +
                 "; it must be above 0 and at most 1");
  }
  if (admission.now < kNever || admission.now > kLatestTime) {
    fail_invalid(owner + " got the time " + std::to_string(admission.now) +
                 "; it must be 0 to 4294967294, in seconds or steps");
  }
  if (admission.bloom.max_elements != 0) admission.bloom.check(owner);
}

// The rules of a lookup, with the threshold that replaces its own, and its probability.
Admission AdmissionControl::in_force(Admission admission) const {
  const std::int64_t replaced = state().counting.threshold;
  admission.frozen = state().counting.frozen || (replaced < 0 && admission.threshold == 0);
  if (replaced >= 0) {
    admission.threshold = replaced;
    admission.probability = 1.0;
  }
  if (admission.bloom.max_elements == 0) return admission;
  if (admission.threshold > (std::int64_t{1} << admission.bloom.counter_bits) - 1) {
    fail_invalid("table '" + name() + "' has an access threshold of " + std::to_string(admission.threshold) +
                 ", which Bloom counters of " + std::to_string(admission.bloom.counter_bits) +
                 " bits never reach; give them more bits");
  }
  return admission;
}

bool AdmissionControl::tracks(const BloomConfig& bloom) const noexcept {
  return (state().layout.present & kSeenCells) == kSeenCells && state().counting.bloom == bloom;
}

// Calls body() under `structure` once the table counts as a lookup requires. Like `with_slots`, it waits for at most
// one snapshot.
template <typename Body>
void AdmissionControl::with_counters(const BloomConfig& bloom, const Body& body) {
  {
    const ReadLock lock(store_.structure());
    if (tracks(bloom)) return body();
  }
  const Maintenance maintenance(store_.maintenance());
  if (!tracks(bloom)) {
    const WriteLock lock(store_.structure());
    track(bloom);
  }
  const ReadLock lock(store_.structure());
  body();
}

void AdmissionControl::track(const BloomConfig& bloom) {
  RowLayout after = state().layout;
  after.present |= kSeenCells;
  if (after == state().layout && state().counting.bloom == bloom) return;
  limit_.require_room(after, bloom);
  store_.spread();  // counters lie in the shard of their key
  const Recount recount(store_);
  if (!(state().counting.bloom == bloom)) {
    std::vector<std::unique_ptr<CountingBloom>> fresh(kShards);
    for (auto& filter : fresh) {
      if (bloom.max_elements != 0) filter = std::make_unique<CountingBloom>(bloom, kShards);
    }
    if (state().counting.bloom.max_elements != 0) {
      notices::post("the Bloom filter of table '" + name() +
                    "' has other settings than before and counts from 0 again");
    }
    for (std::size_t s = 0; s < kShards; ++s) state().shards[s]->bloom = std::move(fresh[s]);
    state().counting.bloom = bloom;
  }
  if (!(after == state().layout)) store_.widen(after, true, state().starts);
}

void AdmissionControl::lookup_and_admit(const std::int64_t* keys, std::size_t count, const Admission& admission,
                                        float* out, bool* admitted) {
  check(admission);
  tiers_.make_way();
  MemoryLimit::with_room([&] {
    with_counters(admission.bloom, [&] { count_and_admit(keys, count, in_force(admission), out, admitted); });
  });
  tiers_.after_use();
}

// Whether the table counts as the rules require; `structure` is held.
void AdmissionControl::count_and_admit(const std::int64_t* keys, std::size_t count, const Admission& rules, float* out,
                                       bool* admitted) {
  const std::uint32_t warmed = lookups_.warm(keys, count);
  raise(state().counting.newest, rules.now);
  const auto seen = static_cast<std::uint32_t>(state().counting.newest + 1);
  const std::uint32_t stamp = tiered() ? warmed : store_.next_stamp();
  std::atomic<bool> all{true};
  Demand demand;
  std::unique_lock<std::mutex> filling = limit_.filling();
  Batch batch(keys, count, IdKind::key, [&](Batch& part_of, std::size_t part) {
    if (limited()) {
      demand_part(part_of, part, rules, stamp, demand);
    } else {
      admit_part(part_of, part, rules, seen, stamp);
    }
  });
  if (limited()) {
    const MemoryLimit::Booking booking(limit_, demand, stamp);
    batch.for_each_part([&](std::size_t part) { admit_part(batch, part, rules, seen, stamp); });
  }
  if (filling) filling.unlock();  // before `steps`, which others hold when they request it
  if (out == nullptr) return;
  const StepsGuard steps(store_);
  batch.for_each_part([&](std::size_t part) {
    const ReadLock shard_lock(state().shards[part]->mutex);
    const std::size_t begin = batch.begin(part);
    for (std::size_t i = begin; i < begin + batch.ids(part); ++i) {
      const std::size_t to = batch.positions()[i];
      float* const row = batch.rows()[begin + batch.numbers()[i]];
      admitted[to] = row != nullptr;
      if (row != nullptr) {
        store_.read_row(row, out + to * dim_);
      } else {
        store_.read_waiting(keys[to], out + to * dim_);
        all = false;
      }
    }
  });
  batch.set_stamp(stamp);
  if (all) recent_.remember(keys, std::move(batch));
}

// Changes nothing, so that whatever can fail fails before the first count changes. Rows are filled in.
AdmissionControl::Judged AdmissionControl::judge(const Shard& shard, const Batch& batch, std::size_t part,
                                                 const Admission& admission) const {
  const std::size_t begin = batch.begin(part);
  Judged judged{std::vector<std::uint32_t>(batch.distinct(part)), {}, {}};
  for (std::size_t i = begin; i < begin + batch.ids(part); ++i) ++judged.counts[batch.numbers()[i]];
  for (std::uint32_t i = 0; i < judged.counts.size(); ++i) {
    if (batch.rows()[begin + i] != nullptr) continue;
    const std::int64_t key = batch.keys()[begin + i];
    const std::uint64_t hash = hash_key(key);
    const std::uint32_t known = shard.bloom ? shard.bloom->count(hash) : shard.sightings.find(hash, key).count;
    const std::uint32_t count = add_saturated(known, std::uint64_t{judged.counts[i]} * occurrences_of(admission));
    const bool enough =
        count >= admission.threshold &&
        (admission.probability == 1.0 || admitted_by_chance(key, config_.seed, count, admission.probability));
    (enough ? judged.inserted : judged.waiting).push_back(i);
  }
  return judged;
}

// The existing rows of a part's keys; the shard is locked.
void AdmissionControl::find_part(Batch& batch, std::size_t part) const noexcept {
  const RowLayout& layout = state().layout;
  const std::int64_t* const keys = batch.keys() + batch.begin(part);
  float** const rows = batch.rows() + batch.begin(part);
  std::uint8_t shards[kBlock];
  for (std::size_t at = 0; at < batch.distinct(part); at += kBlock) {
    const std::size_t some = std::min(kBlock, batch.distinct(part) - at);
    store_.find_block(keys + at, some, rows + at, shards);
    for (std::size_t i = at; i < at + some; ++i) {
      if (rows[i] != nullptr) __builtin_prefetch(rows[i] + layout.cells_at(), 1);
    }
  }
}

// Memory that `admit_part` will need; nothing is counted yet.
void AdmissionControl::demand_part(Batch& batch, std::size_t part, const Admission& admission, std::uint32_t stamp,
                                   Demand& demand) {
  const Shard& shard = *state().shards[part];
  const WriteLock lock(shard.mutex);
  find_part(batch, part);
  store_.stamp_part(batch, part, stamp);
  const Judged judged = judge(shard, batch, part, admission);
  const bool counts = shard.bloom == nullptr && !config_.evicts;
  const std::size_t counters = counts ? shard.sightings.bytes_for(judged.waiting.size()) - shard.sightings.bytes() : 0;
  demand.set(shard, part, judged.inserted.size(), counters, state().layout);
}

// Counts the keys of a part; afterwards, admitted keys have rows, and others null.
void AdmissionControl::admit_part(Batch& batch, std::size_t part, const Admission& admission, std::uint32_t seen,
                                  std::uint32_t stamp) {
  Shard& shard = *state().shards[part];
  const RowLayout& layout = state().layout;
  const std::int64_t* const keys = batch.keys() + batch.begin(part);
  float** const rows = batch.rows() + batch.begin(part);
  const NewRow fresh = store_.new_row();
  const WriteLock lock(shard.mutex);
  find_part(batch, part);
  const Judged judged = judge(shard, batch, part, admission);
  store_.require_places(shard, judged.inserted.size());
  for (const std::uint32_t i : judged.inserted) store_.require_id(keys[i]);
  const Growth growth(store_, shard);
  const bool forgets = !shard.bloom && !limit_.has_room_to_count(shard, judged.waiting.size());
  if (!shard.bloom && !forgets) shard.sightings.reserve(judged.waiting.size());
  shard.reserve_for(judged.inserted.size(), [&](std::size_t i) { return keys[judged.inserted[i]]; });
  store_.save_part(batch, part);

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
    rows[i] = shard.insert(hash_key(keys[i]), keys[i], layout, fresh);
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
  store_.stamp_part(batch, part, stamp);
}

// Reads the rows of admitted keys, and what others read while they wait.
template <typename Right>
void AdmissionControl::read_where(const Right& has_right, const std::int64_t* keys, std::size_t count, float* out,
                                  bool* read, bool in_place) {
  const bool moves = !in_place && tiers_.way_made();
  const auto read_some = [&](std::size_t at, std::size_t some) {
    const ReadLock lock(store_.structure());
    if (moves) lookups_.warm(keys, count);
    store_.visit_rows(keys + at, some, [&](std::size_t i, const float* row) {
      float* const to = out + (at + i) * dim_;
      read[at + i] = row != nullptr && has_right(row);
      if (read[at + i]) {
        store_.read_row(row, to);
      } else {
        store_.read_waiting(keys[at + i], to);
      }
    });
  };
  in_place ? in_blocks(count, read_some) : read_some(0, count);
}

void AdmissionControl::lookup_admitted(const std::int64_t* keys, std::size_t count, std::int64_t threshold, float* out,
                                       bool* admitted, bool in_place) {
  const auto admits = [&](const float* row) {
    const RowLayout& layout = state().layout;
    const std::int64_t replaced = state().counting.threshold;
    return !layout.has(Cell::count) ||
           often_enough(layout.read(row, Cell::count), replaced >= 0 ? replaced : threshold);
  };
  read_where(admits, keys, count, out, admitted, in_place);
}

void AdmissionControl::lookup_permitted(const std::int64_t* keys, std::size_t count, float* out, bool* permitted,
                                        bool in_place) {
  read_where([](const float*) { return true; }, keys, count, out, permitted, in_place);
}

}  // namespace recmigrate
