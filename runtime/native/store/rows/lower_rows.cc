#include "store/rows/lower_rows.h"

#include <algorithm>
#include <utility>

#include "store/rows/row.h"
#include "store/rows/state.h"

namespace recmigrate {

std::size_t rows_below(const Shard& shard) noexcept {
  std::size_t rows = 0;
  for (const Index& index : shard.lower) rows += index.size();
  return rows;
}

bool is_below(const Shard& shard, std::uint64_t hash, std::int64_t key) noexcept {
  return std::any_of(shard.lower.begin(), shard.lower.end(),
                     [&](const Index& index) { return index.find(hash, key) != kAbsent; });
}

// A row without moving it: in `copy` if it is below memory, null if there is none. The shard is locked.
const float* row_in_any_tier(const State& state, const Shard& shard, std::uint64_t hash, std::int64_t key,
                             std::vector<float>& copy) {
  const float* const row = shard.find(hash, key);
  for (std::size_t t = 0; t < shard.lower.size() && row == nullptr; ++t) {
    const Slot place = shard.lower[t].find(hash, key);
    if (place == kAbsent) continue;
    copy.resize(state.layout.stride());
    float* const to = copy.data();
    state.lower[t]->get(&key, &place, 1, &to);
    return to;
  }
  return row;
}

bool remove_below(const State& state, Shard& shard, std::uint64_t hash, std::int64_t key) noexcept {
  for (std::size_t t = 0; t < shard.lower.size(); ++t) {
    const Slot place = shard.lower[t].erase(hash, key);
    if (place == kAbsent) continue;
    state.lower[t]->drop(&key, &place, 1);
    return true;
  }
  return false;
}

void take_over(State& state, RebuiltBelow below) noexcept {
  state.lower = std::move(below.lower);
  if (state.staged) state.staged->restart(below.width);
  for (std::size_t s = 0; s < kShards; ++s) state.shards[s]->lower = std::move(below.indexes[s]);
}

FrozenBelow freeze_below(const State& state) {
  FrozenBelow result;
  result.tiers.resize(state.lower.size());
  for (std::size_t t = 0; t < result.tiers.size(); ++t) {
    for (const auto& shard : state.shards) {
      shard->lower[t].for_each([&](std::int64_t key, Slot place) { result.tiers[t].push_back({place, key}); });
    }
    std::sort(result.tiers[t].begin(), result.tiers[t].end(),
              [](const FrozenBelow::Row& a, const FrozenBelow::Row& b) { return a.place < b.place; });
  }
  return result;
}

// Rows that have moved up meanwhile can still be read at their old places: nothing settles while `maintenance` is held.
void write_below(const State& state, const FrozenBelow& rows, const Destination& to, std::size_t begin,
                 const std::shared_ptr<const Steps>& steps) {
  constexpr std::size_t kTogether = 8192;
  const RowLayout layout = state.layout;
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
      state.lower[t]->get(keys.data(), places.data(), some, out.data());
      for (std::size_t i = 0; i < some; ++i) {
        to.keys[begin + i] = keys[i];
        write_row(layout, to, begin + i, out[i], steps.get());
      }
      begin += some;
    }
  }
}

}  // namespace recmigrate
