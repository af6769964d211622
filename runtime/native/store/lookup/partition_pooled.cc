// Pooled ids: whether a rank sends rows or sums of them, and which of these belong to which bag.
#include <algorithm>
#include <string>

#include "store/errors.h"
#include "store/lookup/partial_sums.h"
#include "store/lookup/partition.h"

namespace recmigrate::exchange {
namespace {

constexpr std::size_t kMostBags = 0x7fffffffU;

// The rank of each row, [rows], from its position among all rows; quicker than a search.
std::vector<std::uint32_t> ranks_of_rows(const std::vector<std::size_t>& begins) {
  std::vector<std::uint32_t> ranks(begins.back());
  for (std::size_t rank = 0; rank + 1 < begins.size(); ++rank) {
    std::fill(ranks.begin() + static_cast<std::ptrdiff_t>(begins[rank]),
              ranks.begin() + static_cast<std::ptrdiff_t>(begins[rank + 1]), static_cast<std::uint32_t>(rank));
  }
  return ranks;
}

// Calls body(id, rank, begins) for each id in order; begins: whether it is the first id of its bag that this rank
// holds.
template <typename Body>
void each_occurrence(const Asked& asked, const std::vector<std::size_t>& begins, const Body& body) {
  const std::vector<std::uint32_t> ranks = ranks_of_rows(begins);
  std::vector<std::size_t> last(begins.size() - 1, asked.count);
  std::size_t first = 0;
  for (std::size_t i = 0; i < asked.count; ++i) {
    if (asked.bags[i] != asked.bags[first]) first = i;
    const std::uint32_t rank = ranks[static_cast<std::size_t>(asked.places[i])];
    const bool begins_bag = last[rank] != first;
    last[rank] = first;
    body(i, rank, begins_bag);
  }
}

}  // namespace

// A row costs `width` floats on the way back, and its gradient as many; so does a sum, which must also be requested.
void Partition::choose(const Asked& asked, std::size_t ranks, Sorted& table) {
  table.links = asked.count;
  const auto [least, most] = std::minmax_element(asked.bags, asked.bags + asked.count);
  if (asked.count != 0 && (*least < 0 || static_cast<std::size_t>(*most) > kMostBags)) {
    fail_invalid("a bag has number " + std::to_string(*least < 0 ? *least : *most) +
                 ": it must be from 0 to 2147483647");
  }
  if (asked.width == 0) return;
  std::vector<std::size_t> occurrences(ranks, 0);
  std::vector<std::size_t> sums(ranks, 0);
  each_occurrence(asked, table.begins, [&](std::size_t /*id*/, std::uint32_t rank, bool begins_bag) {
    ++occurrences[rank];
    sums[rank] += static_cast<std::size_t>(begins_bag);
  });
  bool any = false;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::size_t keys = table.keys_of(rank);
    // In values of 8 bytes: two floats, in both directions.
    if (sums[rank] * asked.width + partial_sums_size(keys, occurrences[rank]) < keys * asked.width) {
      any = true;
      table.links -= occurrences[rank] - sums[rank];
    } else {
      occurrences[rank] = 0;
      sums[rank] = keys;
    }
    table.answers[rank + 1] = table.answers[rank] + sums[rank];
  }
  if (any) table.occurrences = std::move(occurrences);
}

void Partition::write_sums(std::size_t table, const std::vector<std::int64_t*>& to) const {
  const Sorted& sorted = tables_[table];
  std::vector<PartialSumsWriter> writers(ranks_);
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    if (sorted.summed(rank)) writers[rank] = {to[rank], sorted.keys_of(rank), sorted.occurrences[rank]};
  }
  const Asked& asked = asked_[table];
  each_occurrence(asked, sorted.begins, [&](std::size_t id, std::uint32_t rank, bool begins_bag) {
    if (sorted.occurrences[rank] == 0) return;
    writers[rank].add(static_cast<std::size_t>(asked.places[id]) - sorted.begins[rank], begins_bag);
  });
}

void Partition::write_links(std::size_t table, std::int32_t* places, std::int32_t* bags) const {
  const Asked& asked = asked_[table];
  const Sorted& sorted = tables_[table];
  if (sorted.occurrences.empty()) {
    std::copy_n(asked.places, asked.count, places);
    std::transform(asked.bags, asked.bags + asked.count, bags,
                   [](std::int64_t bag) { return static_cast<std::int32_t>(bag); });
    return;
  }
  std::vector<std::size_t> next = sorted.answers;
  each_occurrence(asked, sorted.begins, [&](std::size_t id, std::uint32_t rank, bool begins_bag) {
    std::size_t place = static_cast<std::size_t>(asked.places[id]) - sorted.begins[rank] + sorted.answers[rank];
    if (sorted.occurrences[rank] != 0) {
      if (!begins_bag) return;
      place = next[rank]++;
    }
    *places++ = static_cast<std::int32_t>(place);
    *bags++ = static_cast<std::int32_t>(asked.bags[id]);
  });
}

}  // namespace recmigrate::exchange
