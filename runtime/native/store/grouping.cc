#include "store/grouping.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "store/errors.h"
#include "store/hash.h"
#include "store/optimizer.h"
#include "store/parallel.h"

namespace recmigrate {
namespace {

// Below this many ids, waking a thread costs more than it saves.
constexpr std::size_t kWorthSplitting = 4096;

// The index of the main table uses the low hash bits; groups use the top ones.
std::size_t group_of(std::uint32_t tag, unsigned shift) noexcept { return std::uint64_t{tag} >> shift; }

std::vector<std::uint32_t> hash_tags(const std::int64_t* keys, std::size_t count) {
  std::vector<std::uint32_t> tags(count);
  parallel::ranges(count, kWorthSplitting * 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) tags[i] = static_cast<std::uint32_t>(hash_key(keys[i]) >> 32);
  });
  return tags;
}

// Positions of one group's ids; written without a branch, since the choice is as good as random.
std::vector<std::uint32_t> members(const std::vector<std::uint32_t>& tags, std::size_t group, unsigned shift) {
  std::vector<std::uint32_t> positions(tags.size() + 1);
  std::size_t found = 0;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    positions[found] = static_cast<std::uint32_t>(i);
    found += group_of(tags[i], shift) == group ? 1 : 0;
  }
  positions.resize(found);
  return positions;
}

// Open addressing over the group's own keys, at most half full; holds position in `group.keys` plus one.
class Seen {
 public:
  explicit Seen(std::size_t most) {
    std::size_t size = 16;
    while (size < 2 * most) size *= 2;
    places_.resize(size);
  }

  // The key's number, and whether it is new (then the caller appends it to `keys`).
  std::pair<std::uint32_t, bool> add(std::int64_t key, std::uint32_t tag, const std::vector<std::int64_t>& keys) noexcept {
    const std::size_t mask = places_.size() - 1;
    std::size_t at = tag & mask;
    while (places_[at] != 0 && keys[places_[at] - 1] != key) at = (at + 1) & mask;
    const bool fresh = places_[at] == 0;
    if (fresh) places_[at] = static_cast<std::uint32_t>(keys.size()) + 1;
    return {places_[at] - 1, fresh};
  }

 private:
  std::vector<std::uint32_t> places_;
};

Group build(const std::vector<std::uint32_t>& positions, const std::vector<std::uint32_t>& tags, const std::int64_t* keys,
            const float* grads, std::size_t dim) {
  Group group;
  Seen seen(positions.size());
  if (grads != nullptr) group.sums.reset(new float[positions.size() * dim]);
  for (const std::uint32_t i : positions) {
    const auto [number, fresh] = seen.add(keys[i], tags[i], group.keys);
    if (fresh) {
      group.keys.push_back(keys[i]);
      group.first.push_back(i);
    }
    if (grads == nullptr) continue;
    if (fresh) {
      std::memcpy(&group.sums[number * dim], grads + i * dim, dim * sizeof(float));
    } else {
      add_row(&group.sums[number * dim], grads + i * dim, dim);
    }
  }
  return group;
}

}  // namespace

std::vector<Group> group_by_key(const std::int64_t* keys, std::size_t count, const float* grads, std::size_t dim) {
  if (count >= 0xffffffffU) fail_limit("a batch holds at most 4294967294 ids, not " + std::to_string(count));
  // Twice as many groups as threads: the one with the hottest key keeps one thread busy while the others share the rest.
  unsigned bits = 0;
  while (count > kWorthSplitting && bits < 6 && (std::size_t{1} << bits) < 2 * parallel::thread_count()) ++bits;
  if (parallel::thread_count() == 1) bits = 0;
  const std::vector<std::uint32_t> tags = hash_tags(keys, count);
  std::vector<Group> groups(std::size_t{1} << bits);
  parallel::run(groups.size(), [&](std::size_t g) {
    groups[g] = build(members(tags, g, 32 - bits), tags, keys, grads, dim);
  });
  return groups;
}

}  // namespace recmigrate
