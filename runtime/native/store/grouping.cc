#include "store/grouping.h"

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

// A group with the positions of its ids, written without a branch, since the choice is as good as random.
Group with_positions(const std::vector<std::uint32_t>& tags, std::size_t number, unsigned shift) {
  Group group;
  group.positions.reset(new std::uint32_t[tags.size() + 1]);
  for (std::size_t i = 0; i < tags.size(); ++i) {
    group.positions[group.ids] = static_cast<std::uint32_t>(i);
    group.ids += group_of(tags[i], shift) == number ? 1 : 0;
  }
  return group;
}

// Numbers the keys of one group in order of first occurrence. Most batches repeat few keys many times, so the table
// starts small and grows: it stays in the first cache levels.
class Numbering {
 public:
  explicit Numbering(const std::vector<std::uint32_t>& tags) : tags_(tags), places_(1024) {}

  [[nodiscard]] std::uint32_t number(std::int64_t key, std::uint32_t position, Group& group) {
    std::size_t at = find(key, tags_[position], group);
    if (places_[at] != 0) return places_[at] - 1;
    if (2 * group.keys.size() >= places_.size()) {
      grow(group);
      at = find(key, tags_[position], group);
    }
    group.keys.push_back(key);
    group.first.push_back(position);
    places_[at] = static_cast<std::uint32_t>(group.keys.size());
    return places_[at] - 1;
  }

 private:
  [[nodiscard]] std::size_t find(std::int64_t key, std::uint32_t tag, const Group& group) const noexcept {
    const std::size_t mask = places_.size() - 1;
    std::size_t at = tag & mask;
    while (places_[at] != 0 && group.keys[places_[at] - 1] != key) at = (at + 1) & mask;
    return at;
  }

  void grow(const Group& group) {
    places_.assign(places_.size() * 4, 0);
    const std::size_t mask = places_.size() - 1;
    for (std::size_t i = 0; i < group.first.size(); ++i) {
      std::size_t at = tags_[group.first[i]] & mask;
      while (places_[at] != 0) at = (at + 1) & mask;
      places_[at] = static_cast<std::uint32_t>(i) + 1;
    }
  }

  const std::vector<std::uint32_t>& tags_;
  std::vector<std::uint32_t> places_;  // number plus one; 0 is empty
};

void number_and_sum(Group& group, const std::vector<std::uint32_t>& tags, const std::int64_t* keys, const float* grads,
                    std::size_t dim) {
  Numbering numbering(tags);
  group.numbers.reset(new std::uint32_t[group.ids]);
  for (std::size_t i = 0; i < group.ids; ++i) {
    const std::uint32_t position = group.positions[i];
    group.numbers[i] = numbering.number(keys[position], position, group);
  }
  if (grads != nullptr) {
    group.sums.reset(new float[group.keys.size() * dim]);
    sum_rows(group.sums.get(), group.numbers.get(), grads, group.positions.get(), group.ids, dim);
  }
}

}  // namespace

std::vector<Group> group_by_key(const std::int64_t* keys, std::size_t count, const float* grads, std::size_t dim) {
  if (count >= 0xffffffffU) fail_limit("a batch holds at most 4294967294 ids, not " + std::to_string(count));
  // Twice as many groups as threads: the one with the hottest key keeps a thread busy while others share the rest.
  unsigned bits = 0;
  while (count > kWorthSplitting && bits < 6 && (std::size_t{1} << bits) < 2 * parallel::thread_count()) ++bits;
  if (parallel::thread_count() == 1) bits = 0;
  const std::vector<std::uint32_t> tags = hash_tags(keys, count);
  std::vector<Group> groups(std::size_t{1} << bits);
  parallel::run(groups.size(), [&](std::size_t g) {
    groups[g] = with_positions(tags, g, 32 - bits);
    number_and_sum(groups[g], tags, keys, grads, dim);
  });
  return groups;
}

}  // namespace recmigrate
