// Tables with three tiers: excess rows of the second tier are passed on to the third.
#include <algorithm>
#include <tuple>
#include <utility>

#include "store/errors.h"
#include "store/hash.h"
#include "store/parallel.h"
#include "store/tiers/tiers.h"

namespace recmigrate {
namespace {

constexpr std::size_t kMiddle = 0;  // among the tiers below memory
constexpr std::size_t kLast = 1;

// As for rows in memory: a part of a large tier is freed at once.
constexpr std::size_t kLarge = std::size_t{1} << 16;
constexpr std::size_t kOneOf = 20;

}  // namespace

// A row of a lower tier to move further down, and the criteria by which it was selected.
struct Tiers::Passing {
  std::uint32_t uses;
  std::uint32_t used;
  std::int64_t key;
  Slot place;
};

// Moves the coldest excess rows of the second tier to the third; returns their number. Batches can run at the same
// time, except while the indexes change. The caller holds `maintenance`.
std::size_t Tiers::pass_on() {
  if (state().lower.size() < 2) return 0;
  std::vector<Passing> chosen;
  {
    const ReadLock lock(store_.structure());
    std::size_t rows = 0;
    for (const auto& shard : state().shards) {
      const ReadLock shard_lock(shard->mutex);
      rows += shard->lower[kMiddle].size();
    }
    const std::size_t capacity = capacity_of(kMiddle + 1);
    if (rows <= capacity) return 0;
    chosen = coldest_below(kMiddle, rows - capacity + (capacity >= kLarge ? capacity / kOneOf : 0));
  }
  std::vector<float> values;
  read_passing(kMiddle, chosen, values);
  std::vector<std::int64_t> keys;
  std::vector<const float*> rows;
  std::vector<std::vector<std::size_t>> parts(kShards);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    keys.push_back(chosen[i].key);
    rows.push_back(&values[i * state().layout.stride()]);
    parts[shard_of(hash_key(chosen[i].key))].push_back(i);
  }
  std::vector<Slot> places(chosen.size());
  const WriteLock lock(store_.structure());
  for (std::size_t s = 0; s < kShards; ++s) {
    Index& last = state().shards[s]->lower[kLast];
    if (!parts[s].empty()) last.reserve(last.size() + parts[s].size());
  }
  state().lower[kLast]->put(keys.data(), rows.data(), keys.size(), places.data());
  for (std::size_t s = 0; s < kShards; ++s) {
    Shard& shard = *state().shards[s];
    for (const std::size_t i : parts[s]) {
      const std::uint64_t hash = hash_key(keys[i]);
      if (shard.lower[kMiddle].find(hash, keys[i]) == chosen[i].place) {
        shard.lower[kMiddle].erase(hash, keys[i]);
        shard.lower[kLast].insert(hash, keys[i], places[i]);
        state().lower[kMiddle]->drop(&keys[i], &chosen[i].place, 1);
      } else {  // it moved up meanwhile
        state().lower[kLast]->drop(&keys[i], &places[i], 1);
      }
    }
  }
  return chosen.size();
}

// The least used rows of a tier, selected as `coldest` does for memory. `structure` is held.
std::vector<Tiers::Passing> Tiers::coldest_below(std::size_t tier, std::size_t count) const {
  const RowLayout& layout = state().layout;
  const LowerTier& below = *state().lower[tier];
  std::vector<std::vector<Passing>> parts(kShards);
  parallel::run(kShards, [&](std::size_t s) {
    const Shard& shard = *state().shards[s];
    const ReadLock lock(shard.mutex);
    parts[s].reserve(shard.lower[tier].size());
    shard.lower[tier].for_each([&](std::int64_t key, Slot place) {
      const float* const row = below.in_place(place);
      parts[s].push_back(
          {config_.tier_by_uses ? layout.read(row, Cell::uses) : 0, layout.read(row, Cell::used), key, place});
    });
  });
  std::vector<Passing> found;
  for (const auto& some : parts) found.insert(found.end(), some.begin(), some.end());
  const auto before = [](const Passing& a, const Passing& b) {
    return std::tie(a.uses, a.used, a.key) < std::tie(b.uses, b.used, b.key);
  };
  if (found.size() > count) {
    std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end(), before);
    found.resize(count);
  }
  return found;
}

// Reads rows to move; damaged ones stay, so that whoever needs one gets the error.
void Tiers::read_passing(std::size_t tier, std::vector<Passing>& rows, std::vector<float>& values) const {
  const std::size_t width = state().layout.stride();
  values.resize(rows.size() * width);
  std::size_t sound = 0;
  for (const Passing& one : rows) {
    float* const out = &values[sound * width];
    try {
      state().lower[tier]->get(&one.key, &one.place, 1, &out);
    } catch (const StorageFailed& failure) {
      if (!failure.damaged()) throw;
      continue;
    }
    rows[sound++] = one;
  }
  rows.resize(sound);
}

}  // namespace recmigrate
