// Moves the least recently used rows of memory down.
#include <algorithm>
#include <limits>
#include <utility>

#include "store/errors.h"
#include "store/hash.h"
#include "store/parallel.h"
#include "store/tiers/prefetcher.h"
#include "store/tiers/tiers.h"

namespace recmigrate {
namespace {

// Share of a large first tier to free at once, so that many steps share the search for rows to move.
constexpr std::size_t kLarge = std::size_t{1} << 16;
constexpr std::size_t kOneOf = 20;

// A tier in the middle may exceed its size by an eighth until rows are passed on.
constexpr std::size_t kPart = 8;

constexpr std::uint32_t kLastStamp = 0xffffffffU;

}  // namespace

// A row to move down, and the criteria by which it was selected.
struct Tiers::Descent {
  std::uint32_t uses;
  std::uint32_t used;
  std::int64_t key;
  std::size_t shard;
  float* row;
};

// Moves rows down until no tier exceeds its size, except (unless `all`) rows with pending updates. After a failure,
// training calls fail and reading calls move nothing up, until an attempt succeeds.
void Tiers::trim(bool all) {
  try {
    trim_tiers(all);
  } catch (...) {
    storage_failed_ = true;
    throw;
  }
}

void Tiers::trim_tiers(bool all) {
  const Maintenance maintenance(store_.maintenance());
  for (const auto& tier : state().lower) tier->flush();  // left by an earlier attempt
  bool lowered = true;
  try {
    lowered = lower_rows(all) != 0;
  } catch (const StorageFull&) {
    compact_tiers(true);
    lower_rows(all);
  }
  if (all) {  // even if no row had to move down, rows may have been deleted
    const WriteLock lock(store_.structure());
    for (const auto& tier : state().lower) tier->settle();
  }
  sweeper::threads(sweeper::Work::compact) == 0 ? compact_tiers(false)
                                                : sweeper::ask(compactor_, sweeper::Work::compact);
  storage_failed_ = false;
  if (lowered) prefetcher_->search_again();
}

// Until no tier but the last exceeds its size, as known at the start: batches at the same time may move rows up as fast
// as others move down. Returns the number of rows that left memory. The caller holds `maintenance`.
std::size_t Tiers::lower_rows(bool all) {
  std::size_t lowered = 0;
  for (const std::size_t most = rows_too_many();;) {
    const std::size_t passed_on = pass_on();
    const std::size_t moved = lowered >= most ? 0 : move_down(all);
    if (passed_on + moved == 0) return lowered;
    lowered += moved;
    for (const auto& tier : state().lower) tier->flush();
  }
}

std::size_t Tiers::rows_too_many() const {
  const ReadLock lock(store_.structure());
  const std::size_t rows = rows_held();
  return rows - std::min(rows, capacity_of(0));
}

// Moves the coldest excess rows of memory to the tier below; returns their number. Batches can run during the search,
// but not while rows are moved. The caller holds `maintenance`.
std::size_t Tiers::move_down(bool all) {
  std::vector<Descent> chosen;
  {
    const ReadLock lock(store_.structure());
    const std::size_t rows = rows_held();
    const std::size_t capacity = capacity_of(0);
    if (rows <= capacity) return 0;
    chosen = coldest(rows - capacity + (capacity >= kLarge ? capacity / kOneOf : 0),
                     all ? RecentBatches::kNoBatch : recent_.awaited());
  }
  const WriteLock lock(store_.structure());
  for (const auto& tier : state().lower) tier->settle();
  const RowLayout& layout = state().layout;
  const std::uint64_t before = all ? RecentBatches::kNoBatch : recent_.awaited();
  const auto stays = [&](const Descent& one) {
    return one.used >= before || layout.read(one.row, Cell::used) != one.used ||
           layout.read(one.row, Cell::uses) != one.uses || layout.read_key(one.row) != one.key;
  };
  chosen.erase(std::remove_if(chosen.begin(), chosen.end(), stays), chosen.end());  // used since
  if (state().lower.size() > 1) chosen.resize(std::min(chosen.size(), capacity_of(1) / kPart + 1));
  put_below(0, chosen);
  for (const Descent& one : chosen) state().lowered = std::max(state().lowered, one.used);
  if (state().lowered == kLastStamp) store_.next_epoch();  // stamps are used up and no longer distinguish batches
  return chosen.size();
}

// The least used rows in memory, among them the least recently used, among them the smallest keys; none that the batch
// `before` or a later one used.
std::vector<Tiers::Descent> Tiers::coldest(std::size_t count, std::uint64_t before) const {
  struct Ranked {
    std::uint64_t rank;
    Slot slot;
  };
  const RowLayout& layout = state().layout;
  const std::size_t used_at = layout.at(Cell::used);
  const std::size_t uses_at = layout.at(Cell::uses);
  std::vector<std::vector<Ranked>> parts(kShards);
  parallel::run(kShards, [&](std::size_t s) {
    const Shard& shard = *state().shards[s];
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
  std::vector<Descent> equal;  // equal to the last one; perhaps not all are needed
  for (std::size_t s = 0; s < kShards; ++s) {
    const Shard& shard = *state().shards[s];
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

// Moves rows from memory to a lower tier. The caller holds `structure` for writing.
void Tiers::put_below(std::size_t tier, const std::vector<Descent>& rows) {
  std::vector<std::int64_t> keys;
  std::vector<const float*> from;
  std::vector<std::vector<std::size_t>> parts(kShards);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    keys.push_back(rows[i].key);
    from.push_back(rows[i].row);
    parts[rows[i].shard].push_back(i);
  }
  for (std::size_t s = 0; s < kShards; ++s) {
    Index& index = state().shards[s]->lower[tier];
    if (!parts[s].empty()) index.reserve(index.size() + parts[s].size());
  }
  std::vector<Slot> places(rows.size());
  state().staged->forget(keys.data(), keys.size());
  state().lower[tier]->put(keys.data(), from.data(), rows.size(), places.data());
  parallel::run(kShards, [&](std::size_t s) {
    Shard& shard = *state().shards[s];
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
        shard.remove(hash, keys[number], state().layout);
        below.insert(hash, keys[number], places[number]);
      }
    }
  });
}

}  // namespace recmigrate
