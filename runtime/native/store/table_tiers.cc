// Tiers below memory: rows come up when a batch needs them, and those not used for long go down in the background.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "store/errors.h"
#include "store/hash.h"
#include "store/parallel.h"
#include "store/row.h"
#include "store/table.h"
#include "store/table_prefetch.h"

namespace recmigrate {
namespace {

// Of a large first tier, a part is freed at once, so that looking for the rows to move is shared by many steps.
constexpr std::size_t kLarge = std::size_t{1} << 16;
constexpr std::size_t kOneOf = 20;

// What a row in memory takes besides itself: its part of the index.
constexpr std::size_t kIndexBytes = 16;

// A tier in the middle holds at most an eighth more than it may, until rows were passed on.
constexpr std::size_t kPart = 8;

// Rows that may be in memory beyond what the tier holds before a step waits for the background.
constexpr std::size_t kSlack = std::size_t{1} << 16;

// An update is awaited until so many further batches have come.
constexpr std::uint32_t kPatience = 8;

constexpr std::uint32_t kLastStamp = 0xffffffffU;
constexpr std::uint64_t kNoBatch = std::uint64_t{1} << 32;  // later than any

std::size_t round_up_16(std::size_t bytes) noexcept { return (bytes + 15) / 16 * 16; }

}  // namespace

// A key of a part, by number, whose row lies in a lower tier.
struct Table::Below {
  std::uint32_t number;
  std::uint32_t tier;
  Slot place;
};

// A row that is to go down, and what it was chosen by.
struct Table::Descent {
  std::uint32_t uses;
  std::uint32_t used;
  std::int64_t key;
  std::size_t shard;
  float* row;
};

void Table::check_tiers() const {
  if (!tiered()) return;
  const std::string owner = "table '" + name() + "'";
  if (config_.tiers.size() < 2 || config_.tiers.size() > 3 || config_.tiers.front().medium != Medium::memory) {
    fail_invalid(owner + " has " + std::to_string(config_.tiers.size()) +
                 " tiers; it must be memory and one or two below it");
  }
  if (config_.tiers.front().bytes == 0)
    fail_invalid(owner + " does not say how many bytes its tier of memory may take");
  if (config_.tiers.size() == 3 &&
      (config_.tiers[1].medium != Medium::mapped || config_.tiers[2].medium == Medium::mapped)) {
    fail_invalid(owner + " has three tiers; they must be memory, mapped, and log or leveldb");
  }
  if (config_.tiers.size() == 3 && config_.tiers[1].bytes == 0) {
    fail_invalid(owner + " does not say how many bytes the second of its three tiers may take");
  }
  if (config_.tier_segment < 1 || config_.tier_segment > (1 << 30)) {
    fail_invalid(owner + " writes " + std::to_string(config_.tier_segment) +
                 " bytes at once; it must be 1 to 1073741824");
  }
  if (limited()) fail_invalid(owner + " has tiers and max_bytes; give its tiers sizes instead");
  if (config_.expansion) {
    fail_invalid(owner +
                 " has tiers and dynamic expansion, whose addresses rows would lose on their way; use one of them");
  }
}

std::unique_ptr<Table::State> Table::make_state(const RowLayout& layout, std::int64_t seed) const {
  auto fresh = std::make_unique<State>(layout, seed);
  fresh->lower = make_lower(layout);
  if (tiered()) fresh->staged = std::make_unique<Staged>(layout.stride());
  for (const auto& shard : fresh->shards) shard->lower = std::vector<Index>(fresh->lower.size());
  return fresh;
}

std::vector<std::unique_ptr<LowerTier>> Table::make_lower(const RowLayout& layout) const {
  std::vector<std::unique_ptr<LowerTier>> lower;
  for (std::size_t t = 1; t < config_.tiers.size(); ++t) {
    lower.push_back(
        make_tier(config_.tiers[t].medium, {config_.tier_folder, "table '" + name() + "'", layout.stride(),
                                            t + 1 < config_.tiers.size() ? 0 : config_.tiers[t].bytes,
                                            static_cast<std::size_t>(config_.tier_segment), config_.tier_library}));
  }
  return lower;
}

// How many rows a tier may hold; the last one's medium says itself when it is full.
std::size_t Table::tier_capacity(std::size_t tier) const noexcept {
  const RowLayout& layout = state_->layout;
  const std::uint64_t bytes = config_.tiers[tier].bytes;
  if (bytes == 0) return std::numeric_limits<std::size_t>::max();
  const std::size_t each = config_.tier_counts_values ? round_up_16(dim_ * sizeof(float)) * (1 + layout.slots)
                                                      : layout.stride() * sizeof(float) + (tier == 0 ? kIndexBytes : 0);
  return static_cast<std::size_t>(bytes / each);
}

std::size_t Table::rows_in_memory() const {
  std::size_t rows = 0;
  for (const auto& shard : state_->shards) {
    const ReadLock lock(shard->mutex);
    rows += shard->index.size();
  }
  return rows;
}

std::size_t Table::rows_below(const Shard& shard) const noexcept {
  std::size_t rows = 0;
  for (const Index& index : shard.lower) rows += index.size();
  return rows;
}

bool Table::is_below(const Shard& shard, std::uint64_t hash, std::int64_t key) noexcept {
  return std::any_of(shard.lower.begin(), shard.lower.end(),
                     [&](const Index& index) { return index.find(hash, key) != kAbsent; });
}

// A row without moving it: in `copy` when it lies below memory, null when there is none. The shard is locked.
const float* Table::row_in_any_tier(const Shard& shard, std::uint64_t hash, std::int64_t key,
                                    std::vector<float>& copy) const {
  const float* const row = shard.find(hash, key);
  for (std::size_t t = 0; t < shard.lower.size() && row == nullptr; ++t) {
    const Slot place = shard.lower[t].find(hash, key);
    if (place == kAbsent) continue;
    copy.resize(state_->layout.stride());
    float* const to = copy.data();
    state_->lower[t]->get(&key, &place, 1, &to);
    return to;
  }
  return row;
}

// `row`, or when it is null the one below memory, in `copy`; null when there is none. The shard is locked.
const float* Table::found_or_below(const float* row, std::size_t shard, std::int64_t key,
                                   std::vector<float>& copy) const {
  return row != nullptr || !tiered() ? row : row_in_any_tier(*state_->shards[shard], hash_key(key), key, copy);
}

// The rows of keys by id, null where there is none; `copies` gets those below memory. Shards are locked.
std::unique_ptr<float*[]> Table::rows_where_they_lie(const std::int64_t* keys, std::size_t count,
                                                     std::vector<std::vector<float>>& copies) const {
  std::unique_ptr<float*[]> rows(new float*[count]);
  std::uint8_t shards[kBlock];
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t some = std::min(kBlock, count - at);
    find_block(keys + at, some, &rows[at], shards);
    for (std::size_t i = at; i < at + some; ++i) {
      std::vector<float> copy;
      if (found_or_below(rows[i], shards[i - at], keys[i], copy) == nullptr || rows[i] != nullptr) continue;
      copies.push_back(std::move(copy));
      rows[i] = copies.back().data();
    }
  }
  return rows;
}

// Gives the keys of a batch that have no row in memory theirs from the tiers below, and where `insert` says so the
// others new ones. `structure_` is held, so rows that came up stay until the batch is done.
void Table::bring_up(Batch& batch, bool insert, std::uint32_t stamp) {
  Needing needing(*this);
  std::vector<std::vector<Below>> found(kShards);
  std::atomic<std::uint64_t> in_memory{0};
  batch.for_each_part([&](std::size_t part) {
    float* const* const rows = batch.rows() + batch.begin(part);
    const auto missing = static_cast<std::size_t>(std::count(rows, rows + batch.distinct(part), nullptr));
    in_memory += batch.distinct(part) - missing;
    if (missing != 0) find_below(batch, part, found[part]);
  });
  found_[0] += in_memory;
  std::vector<std::size_t> begins(kShards + 1);
  for (std::size_t s = 0; s < kShards; ++s) begins[s + 1] = begins[s] + found[s].size();
  const std::size_t width = state_->layout.stride();
  const std::size_t count = begins[kShards];
  Scratch memory(Scratch::bytes_of<float>(count * width));
  float* const rows = memory.take<float>(count * width);
  for (std::size_t t = 0; t < state_->lower.size() && count != 0; ++t) {
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
      insert_part(batch, part);
    }
    const WriteLock lock(state_->shards[part]->mutex);
    stamp_part(batch, part, stamp);
  });
}

// Where the keys of a part that were not in memory are: there, when another batch has brought them up since, or below.
void Table::find_below(Batch& batch, std::size_t part, std::vector<Below>& found) const {
  const Shard& shard = *state_->shards[part];
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

// Puts rows that were read into memory and lets go of where they were.
void Table::take_up(Batch& batch, std::size_t part, const std::vector<Below>& found, const float* rows) {
  Shard& shard = *state_->shards[part];
  const RowLayout& layout = state_->layout;
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
      if (row != nullptr) continue;  // another batch brought it up
      row = shard.insert_empty(hash, key, layout);
      std::memcpy(row, rows + i * layout.stride(), layout.stride() * sizeof(float));
      keys[found[i].tier].push_back(key);
      places[found[i].tier].push_back(shard.lower[found[i].tier].erase(hash, key));
    }
  }
  for (std::size_t t = 0; t < keys.size(); ++t)
    state_->lower[t]->drop(keys[t].data(), places[t].data(), keys[t].size());
}

// Brings the rows of some keys into memory; no new ones are made. `structure_` is held.
// Returns the stamp of their batch.
std::uint32_t Table::warm(const std::int64_t* keys, std::size_t count) {
  return tiered() ? resolve(keys, count, false).stamp() : 0;
}

bool Table::remove_below(Shard& shard, std::uint64_t hash, std::int64_t key) noexcept {
  for (std::size_t t = 0; t < shard.lower.size(); ++t) {
    const Slot place = shard.lower[t].erase(hash, key);
    if (place == kAbsent) continue;
    state_->lower[t]->drop(&key, &place, 1);
    return true;
  }
  return false;
}

// Before a call that brings rows into memory: it waits when far too many are there, and fails, with nothing changed,
// when rows cannot go down.
void Table::make_way() {
  if (!tiered()) return;
  bool crowded = storage_failed_;
  if (!crowded) {
    const ReadLock lock(structure_);
    const std::size_t capacity = tier_capacity(0);
    crowded = rows_held() > capacity + capacity / 4 + kSlack;
  }
  if (crowded) trim(true);
}

// Before a call that only reads: false when rows cannot go down, so that it has to leave them where they lie.
bool Table::way_made() {
  try {
    make_way();
  } catch (const StorageFailed&) {
    return false;
  }
  return true;
}

void Table::after_use() {
  if (!tiered()) return;
  {
    const ReadLock lock(structure_);
    const std::size_t capacity = tier_capacity(0);
    const std::size_t rows = rows_held();
    if (rows <= capacity) return;
    // Rows that came up for a batch go down after its update, and looking for others now would find few.
    if (rows <= capacity + capacity / 8 + kSlack / 4 && awaited() != kNoBatch) return;
  }
  sweeper::threads() == 0 ? tend() : sweeper::ask(*this);
}

// A failure is told to the next call that needs the tiers: `trim` has noted it.
void Table::tend() noexcept {
  try {
    trim(false);
  } catch (...) {  // told later
  }
}

void Table::drain() {
  if (tiered()) trim(true);
}

// Rows that this batch or a later one used are about to be updated; kNoBatch when none is known of. `structure_` is
// held.
std::uint64_t Table::awaited() noexcept {
  std::uint64_t first = kNoBatch;
  const std::uint32_t now = state_->batches;
  const std::lock_guard<std::mutex> lock(recent_mutex_);
  for (const FoundPtr& one : recent_) {
    if (has_rows(*one) && now - one->batch.stamp() < kPatience)
      first = std::min<std::uint64_t>(first, one->batch.stamp());
  }
  return first;
}

// Moves rows down until each tier holds no more than it may, except, unless `all`, those whose updates are awaited.
// After a failure calls that train fail and those that read bring nothing up, until an attempt succeeds.
void Table::trim(bool all) {
  try {
    trim_tiers(all);
  } catch (...) {
    storage_failed_ = true;
    throw;
  }
}

void Table::trim_tiers(bool all) {
  const Maintenance maintenance(maintenance_);
  for (const auto& tier : state_->lower) tier->flush();  // what an earlier attempt left
  bool lowered = true;
  try {
    lowered = lower_rows(all) != 0;
  } catch (const StorageFull&) {
    compact_tiers(true);
    lower_rows(all);
  }
  if (all) {  // where nothing had to go down, rows may have been deleted
    const WriteLock lock(structure_);
    for (const auto& tier : state_->lower) tier->settle();
  }
  sweeper::threads(sweeper::Work::compact) == 0 ? compact_tiers(false)
                                                : sweeper::ask(compactor_, sweeper::Work::compact);
  storage_failed_ = false;
  if (lowered) prefetcher_->search_again();
}

// Until each tier but the last holds no more than it may, as far as that is known when it begins: batches beside it may
// bring up rows as fast as others go down. Returns how many left memory. The caller holds `maintenance_`.
std::size_t Table::lower_rows(bool all) {
  std::size_t lowered = 0;
  for (const std::size_t most = rows_too_many();;) {
    const std::size_t passed_on = pass_on();
    const std::size_t moved = lowered >= most ? 0 : move_down(all);
    if (passed_on + moved == 0) return lowered;
    lowered += moved;
    for (const auto& tier : state_->lower) tier->flush();
  }
}

std::size_t Table::rows_too_many() const {
  const ReadLock lock(structure_);
  const std::size_t rows = rows_held();
  return rows - std::min(rows, tier_capacity(0));
}

// Moves the coldest rows that are too many for memory to the tier below; returns how many. Looking for them goes on
// beside batches, moving them does not. The caller holds `maintenance_`.
std::size_t Table::move_down(bool all) {
  std::vector<Descent> chosen;
  {
    const ReadLock lock(structure_);
    const std::size_t rows = rows_held();
    const std::size_t capacity = tier_capacity(0);
    if (rows <= capacity) return 0;
    chosen = coldest(rows - capacity + (capacity >= kLarge ? capacity / kOneOf : 0), all ? kNoBatch : awaited());
  }
  const WriteLock lock(structure_);
  for (const auto& tier : state_->lower) tier->settle();
  const RowLayout& layout = state_->layout;
  const std::uint64_t before = all ? kNoBatch : awaited();
  const auto stays = [&](const Descent& one) {
    return one.used >= before || layout.read(one.row, Cell::used) != one.used ||
           layout.read(one.row, Cell::uses) != one.uses || layout.read_key(one.row) != one.key;
  };
  chosen.erase(std::remove_if(chosen.begin(), chosen.end(), stays), chosen.end());  // used since
  if (state_->lower.size() > 1) chosen.resize(std::min(chosen.size(), tier_capacity(1) / kPart + 1));
  put_below(0, chosen);
  for (const Descent& one : chosen) state_->lowered = std::max(state_->lowered, one.used);
  if (state_->lowered == kLastStamp) ++epoch_;  // stamps are used up: they tell batches apart no longer
  return chosen.size();
}

// Rows in memory that were used least, of those the ones not used for longest, of those the smallest keys; none that
// the batch `before` or a later one used.
std::vector<Table::Descent> Table::coldest(std::size_t count, std::uint64_t before) const {
  struct Ranked {
    std::uint64_t rank;
    Slot slot;
  };
  const RowLayout& layout = state_->layout;
  const std::size_t used_at = layout.at(Cell::used);
  const std::size_t uses_at = layout.at(Cell::uses);
  std::vector<std::vector<Ranked>> parts(kShards);
  parallel::run(kShards, [&](std::size_t s) {
    const Shard& shard = *state_->shards[s];
    const ReadLock lock(shard.mutex);
    parts[s].reserve(shard.index.size());
    for (Slot slot = 0; slot < shard.used; ++slot) {
      const float* const row = shard.rows.row(slot);
      const std::uint64_t uses = read_cell(row + uses_at);
      const std::uint32_t used = read_cell(row + used_at);
      if (uses == 0 || used >= before) continue;
      parts[s].push_back({(config_.tier_by_uses ? uses << 32 : 0) | used, slot});
    }
  });
  std::vector<std::uint64_t> ranks;
  for (const auto& some : parts) {
    for (const Ranked& one : some) ranks.push_back(one.rank);
  }
  if (ranks.empty()) return {};
  count = std::min(count, ranks.size());
  const auto last = ranks.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(ranks.begin(), last, ranks.end());
  const std::uint64_t most = *last;
  std::vector<Descent> found;
  std::vector<Descent> equal;  // to the last, of which not all may be needed
  for (std::size_t s = 0; s < kShards; ++s) {
    const Shard& shard = *state_->shards[s];
    const ReadLock lock(shard.mutex);
    for (const Ranked& one : parts[s]) {
      if (one.rank > most) continue;
      float* const row = shard.rows.row(one.slot);
      const Descent descent{read_cell(row + uses_at), read_cell(row + used_at), layout.read_key(row), s, row};
      (one.rank < most ? found : equal).push_back(descent);
    }
  }
  const std::size_t needed = count - found.size();
  const auto smaller_key = [](const Descent& a, const Descent& b) { return a.key < b.key; };
  std::nth_element(equal.begin(), equal.begin() + static_cast<std::ptrdiff_t>(needed - 1), equal.end(), smaller_key);
  found.insert(found.end(), equal.begin(), equal.begin() + static_cast<std::ptrdiff_t>(needed));
  return found;
}

// Moves rows from memory to a lower tier. The caller holds `structure_` for writing.
void Table::put_below(std::size_t tier, const std::vector<Descent>& rows) {
  std::vector<std::int64_t> keys;
  std::vector<const float*> from;
  std::vector<std::vector<std::size_t>> parts(kShards);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    keys.push_back(rows[i].key);
    from.push_back(rows[i].row);
    parts[rows[i].shard].push_back(i);
  }
  for (std::size_t s = 0; s < kShards; ++s) {
    Index& index = state_->shards[s]->lower[tier];
    if (!parts[s].empty()) index.reserve(index.size() + parts[s].size());
  }
  std::vector<Slot> places(rows.size());
  state_->staged->forget(keys.data(), keys.size());
  state_->lower[tier]->put(keys.data(), from.data(), rows.size(), places.data());
  parallel::run(kShards, [&](std::size_t s) {
    Shard& shard = *state_->shards[s];
    Index& below = shard.lower[tier];
    for (std::size_t at = 0; at < parts[s].size(); at += kBlock) {
      const std::size_t end = std::min(at + kBlock, parts[s].size());
      for (std::size_t i = at; i < end; ++i) {
        const std::uint64_t hash = hash_key(keys[parts[s][i]]);
        static_cast<void>(shard.index.prefetch(hash));
        static_cast<void>(below.prefetch(hash));
      }
      for (std::size_t i = at; i < end; ++i) {
        const std::size_t number = parts[s][i];
        const std::uint64_t hash = hash_key(keys[number]);
        shard.remove(hash, keys[number], state_->layout);
        below.insert(hash, keys[number], places[number]);
      }
    }
  });
}

void Table::take_over(RebuiltBelow below) noexcept {
  state_->lower = std::move(below.lower);
  if (state_->staged) state_->staged->restart(below.width);
  for (std::size_t s = 0; s < kShards && tiered(); ++s) state_->shards[s]->lower = std::move(below.indexes[s]);
}

Table::FrozenBelow Table::freeze_below() const {
  FrozenBelow result;
  result.tiers.resize(state_->lower.size());
  for (std::size_t t = 0; t < result.tiers.size(); ++t) {
    for (const auto& shard : state_->shards) {
      shard->lower[t].for_each([&](std::int64_t key, Slot place) { result.tiers[t].push_back({place, key}); });
    }
    std::sort(result.tiers[t].begin(), result.tiers[t].end(),
              [](const FrozenBelow::Row& a, const FrozenBelow::Row& b) { return a.place < b.place; });
  }
  return result;
}

// Rows that have come up meanwhile can still be read where they were: nothing settles while `maintenance_` is held.
void Table::write_below(const FrozenBelow& rows, const Destination& to, std::size_t begin,
                        const std::shared_ptr<const Deferred>& steps) const {
  constexpr std::size_t kTogether = 8192;
  const RowLayout layout = state_->layout;
  std::vector<float> memory(std::min(kTogether, rows.count()) * layout.stride());
  for (std::size_t t = 0; t < rows.tiers.size(); ++t) {
    const std::vector<FrozenBelow::Row>& all = rows.tiers[t];
    for (std::size_t at = 0; at < all.size(); at += kTogether) {
      const std::size_t some = std::min(kTogether, all.size() - at);
      std::vector<std::int64_t> keys;
      std::vector<Slot> places;
      std::vector<float*> out;
      for (std::size_t i = 0; i < some; ++i) {
        keys.push_back(all[at + i].key);
        places.push_back(all[at + i].place);
        out.push_back(&memory[i * layout.stride()]);
      }
      state_->lower[t]->get(keys.data(), places.data(), some, out.data());
      for (std::size_t i = 0; i < some; ++i) {
        to.keys[begin + i] = keys[i];
        write_row(layout, to, begin + i, out[i], steps.get());
      }
      begin += some;
    }
  }
}

void Table::tiers_of(const std::int64_t* keys, std::size_t count, std::int32_t* out) const {
  const ReadLock lock(structure_);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t hash = hash_key(keys[i]);
    const Shard& shard = *state_->shards[shard_of(hash)];
    const ReadLock shard_lock(shard.mutex);
    out[i] = shard.find(hash, keys[i]) != nullptr ? 0 : -1;
    for (std::size_t t = 0; t < shard.lower.size() && out[i] < 0; ++t) {
      if (shard.lower[t].find(hash, keys[i]) != kAbsent) out[i] = static_cast<std::int32_t>(t + 1);
    }
  }
}

std::vector<Table::TierStatus> Table::tier_status() const {
  std::vector<TierStatus> result;
  if (!tiered()) return result;
  const ReadLock lock(structure_);
  TierUse above;
  above.rows = rows_in_memory();
  above.memory_bytes = above.rows * state_->layout.stride() * sizeof(float) + state_->staged->bytes();
  for (const auto& shard : state_->shards) {
    const ReadLock shard_lock(shard->mutex);
    above.memory_bytes += shard->index.bytes();
  }
  result.push_back({Medium::memory, tier_capacity(0), found_[0], above, 0, state_->staged->unused()});
  for (std::size_t t = 0; t < state_->lower.size(); ++t) {
    TierUse use = state_->lower[t]->use();
    for (const auto& shard : state_->shards) {
      const ReadLock shard_lock(shard->mutex);
      use.memory_bytes += shard->lower[t].bytes();
    }
    const std::uint64_t bytes = config_.tiers[t + 1].bytes;
    result.push_back({config_.tiers[t + 1].medium, bytes == 0 ? 0 : tier_capacity(t + 1), found_[1 + t], use,
                      prefetched_[1 + t], 0});
  }
  return result;
}

}  // namespace recmigrate
