// Rows below memory, as a state has them: found, visited, removed and written anew. They are moved by `Tiers`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "store/hash.h"
#include "store/rows/state.h"
#include "store/snapshots/capture.h"

namespace recmigrate {

// Of a shard that is locked.
[[nodiscard]] std::size_t rows_below(const Shard& shard) noexcept;
[[nodiscard]] bool is_below(const Shard& shard, std::uint64_t hash, std::int64_t key) noexcept;
[[nodiscard]] const float* row_in_any_tier(const State& state, const Shard& shard, std::uint64_t hash, std::int64_t key,
                                           std::vector<float>& copy);
bool remove_below(const State& state, Shard& shard, std::uint64_t hash, std::int64_t key) noexcept;

// Calls visit(key, row) for the rows of a shard in lower tiers, in the order of their places. No rows go up or down
// meanwhile. Throws StorageFailed.
template <typename Visit>
void visit_below(const State& state, std::size_t s, const Visit& visit) {
  constexpr std::size_t kTogether = 2048;
  const Shard& shard = *state.shards[s];
  const std::size_t width = state.layout.stride();
  for (std::size_t t = 0; t < shard.lower.size(); ++t) {
    std::vector<std::pair<Slot, std::int64_t>> rows;
    shard.lower[t].for_each([&](std::int64_t key, Slot place) { rows.emplace_back(place, key); });
    std::sort(rows.begin(), rows.end());
    std::vector<float> memory(std::min(kTogether, rows.size()) * width);
    std::vector<std::int64_t> keys;
    std::vector<Slot> places;
    std::vector<float*> out;
    for (std::size_t begin = 0; begin < rows.size(); begin += kTogether) {
      const std::size_t some = std::min(kTogether, rows.size() - begin);
      keys.clear();
      places.clear();
      out.clear();
      for (std::size_t i = 0; i < some; ++i) {
        places.push_back(rows[begin + i].first);
        keys.push_back(rows[begin + i].second);
        out.push_back(&memory[i * width]);
      }
      state.lower[t]->get(keys.data(), places.data(), some, out.data());
      for (std::size_t i = 0; i < some; ++i) visit(keys[i], static_cast<const float*>(out[i]));
    }
  }
}

// The lower tiers with all their rows written anew.
struct RebuiltBelow {
  std::vector<std::unique_ptr<LowerTier>> lower;
  std::vector<std::vector<Index>> indexes;  // of each shard
  std::size_t width;                        // of a row
};

// Rows of another layout in `lower`, as change(row, old) fills them in. The state stays as it is. Throws StorageFailed.
template <typename Change>
[[nodiscard]] RebuiltBelow rebuilt_below(const State& state, std::vector<std::unique_ptr<LowerTier>> lower,
                                         const RowLayout& after, const Change& change) {
  RebuiltBelow result{std::move(lower), {}, after.stride()};
  std::vector<float> row(after.stride());
  const float* const rows[] = {row.data()};
  for (std::size_t s = 0; s < kShards; ++s) {
    const Shard& shard = *state.shards[s];
    std::vector<Index> indexes(shard.lower.size());
    for (std::size_t t = 0; t < indexes.size(); ++t) indexes[t].reserve(shard.lower[t].size());
    visit_below(state, s, [&](std::int64_t key, const float* old) {
      const std::uint64_t hash = hash_key(key);
      std::size_t t = 0;
      while (shard.lower[t].find(hash, key) == kAbsent) ++t;
      change(row.data(), old);
      Slot place = kAbsent;
      result.lower[t]->put(&key, rows, 1, &place);
      indexes[t].insert(hash, key, place);
    });
    for (const auto& tier : result.lower) tier->flush();
    result.indexes.push_back(std::move(indexes));
  }
  return result;
}
void take_over(State& state, RebuiltBelow below) noexcept;

// The rows of lower tiers that a snapshot has, by tier.
struct FrozenBelow {
  struct Row {
    Slot place;
    std::int64_t key;
  };
  std::vector<std::vector<Row>> tiers;

  [[nodiscard]] std::size_t count() const noexcept {
    std::size_t rows = 0;
    for (const auto& tier : tiers) rows += tier.size();
    return rows;
  }
};
[[nodiscard]] FrozenBelow freeze_below(const State& state);
// They go to the places from number `begin` on.
void write_below(const State& state, const FrozenBelow& rows, const Destination& to, std::size_t begin,
                 const std::shared_ptr<const Steps>& steps);

}  // namespace recmigrate
