#include "store/lookup/partition.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "store/errors.h"
#include "store/hash.h"
#include "store/lookup/occurrences.h"
#include "store/lookup/partial_sums.h"
#include "store/parallel.h"

namespace recmigrate::exchange {
namespace {

constexpr std::size_t kMostIds = 0x7ffffffeU;

std::int64_t floor_mod(std::int64_t key, std::int64_t by) noexcept {
  const std::int64_t rest = key % by;
  return rest < 0 ? rest + by : rest;
}

std::size_t owner_of(std::int64_t key, std::int64_t rule, std::size_t ranks) noexcept {
  const auto size = static_cast<std::int64_t>(ranks);
  if (rule == kByRemainder) return static_cast<std::size_t>(floor_mod(key, size));
  if (rule == kByBucket) return static_cast<std::size_t>(floor_mod(key, kBuckets) % size);
  return static_cast<std::size_t>(rule);
}

// Numbers the distinct keys in the order of their first occurrence, and gives each id the number of its key.
std::vector<std::int64_t> distinct_keys(const Asked& asked) {
  std::size_t slots = 16;
  while (slots < 2 * asked.count) slots *= 2;
  std::vector<std::int32_t> table(slots, -1);
  std::vector<std::int64_t> keys;
  for (std::size_t i = 0; i < asked.count; ++i) {
    const std::int64_t key = asked.keys[i];
    std::size_t at = hash_key(key) & (slots - 1);
    while (table[at] >= 0 && keys[static_cast<std::size_t>(table[at])] != key) at = (at + 1) & (slots - 1);
    if (table[at] < 0) {
      table[at] = static_cast<std::int32_t>(keys.size());
      keys.push_back(key);
    }
    asked.places[i] = table[at];
  }
  return keys;
}

void check(const Asked& asked, std::size_t ranks) {
  if (asked.owner < kByBucket || asked.owner >= static_cast<std::int64_t>(ranks)) {
    fail_invalid("keys cannot go to rank " + std::to_string(asked.owner) + ": there are " + std::to_string(ranks));
  }
  if (asked.count > kMostIds) {
    fail_limit("an exchange takes at most 2147483646 ids of a table, not " + std::to_string(asked.count));
  }
}

}  // namespace

Partition::Partition(const std::vector<Asked>& tables, std::size_t ranks)
    : ranks_(ranks), asked_(tables), tables_(tables.size()) {
  for (const Asked& asked : tables) check(asked, ranks);
  parallel::run(tables.size(), [&](std::size_t i) {
    tables_[i] = sorted(tables[i], ranks);
    tables_[i].answers = tables_[i].begins;
    if (tables[i].counted) count(tables[i], ranks, tables_[i]);
    if (tables[i].bags != nullptr) choose(tables[i], ranks, tables_[i]);
  });
}

Partition::Sorted Partition::sorted(const Asked& asked, std::size_t ranks) {
  std::vector<std::int64_t> keys = distinct_keys(asked);
  std::vector<std::size_t> begins(ranks + 1, 0);
  if (ranks == 1 || asked.owner >= 0) {
    const std::size_t owner = ranks == 1 ? 0 : static_cast<std::size_t>(asked.owner);
    std::fill(begins.begin() + static_cast<std::ptrdiff_t>(owner) + 1, begins.end(), keys.size());
    return {std::move(keys), std::move(begins), {}, {}, {}, {}, 0};
  }
  std::vector<std::uint32_t> owners(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::size_t owner = owner_of(keys[i], asked.owner, ranks);
    owners[i] = static_cast<std::uint32_t>(owner);
    ++begins[owner + 1];
  }
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<std::size_t> next(begins.begin(), begins.end() - 1);
  std::vector<std::int64_t> by_owner(keys.size());
  std::vector<std::int32_t> place(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::size_t to = next[owners[i]]++;
    by_owner[to] = keys[i];
    place[i] = static_cast<std::int32_t>(to);
  }
  for (std::size_t i = 0; i < asked.count; ++i) asked.places[i] = place[static_cast<std::size_t>(asked.places[i])];
  return {std::move(by_owner), std::move(begins), {}, {}, {}, {}, 0};
}

void Partition::count(const Asked& asked, std::size_t ranks, Sorted& table) {
  table.times.assign(table.keys.size(), 0);
  for (std::size_t i = 0; i < asked.count; ++i) ++table.times[static_cast<std::size_t>(asked.places[i])];
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    table.bytes.push_back(bytes_of_times(table.times.data() + table.begins[rank], table.keys_of(rank)));
  }
}

std::size_t Partition::Sorted::values(std::size_t rank) const noexcept {
  return keys_of(rank) + times_size(keys_of(rank), bytes_of(rank)) +
         (summed(rank) ? partial_sums_size(keys_of(rank), occurrences[rank]) : 0);
}

std::size_t Partition::message_size() const noexcept {
  std::size_t size = ranks_ * tables_.size();
  for (const Sorted& table : tables_) {
    for (std::size_t rank = 0; rank < ranks_; ++rank) size += table.values(rank);
  }
  return size;
}

void Partition::write_message(std::int64_t* message) const {
  std::vector<std::vector<std::int64_t*>> sums(tables_.size(), std::vector<std::int64_t*>(ranks_, nullptr));
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    for (const Sorted& table : tables_) {
      const std::int64_t count = with_bytes(table.keys_of(rank), table.bytes_of(rank));
      *message++ = table.summed(rank) ? ~count : count;
    }
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      const Sorted& table = tables_[i];
      const std::size_t count = table.keys_of(rank);
      std::int64_t* const times = std::copy_n(table.keys.data() + table.begins[rank], count, message);
      if (table.bytes_of(rank) != 0)
        write_times(table.times.data() + table.begins[rank], count, table.bytes[rank], times);
      sums[i][rank] = times + times_size(count, table.bytes_of(rank));
      message += table.values(rank);
    }
  }
  parallel::run(tables_.size(), [&](std::size_t i) {
    if (!tables_[i].occurrences.empty()) write_sums(i, sums[i]);
  });
}

void Partition::write_lengths(std::int32_t* lengths) const {
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    std::size_t length = tables_.size();
    for (const Sorted& table : tables_) length += table.values(rank);
    if (length > kMostIds) {
      fail_limit("a rank can be sent at most 2147483646 values at once, not " + std::to_string(length));
    }
    *lengths++ = static_cast<std::int32_t>(length);
  }
}

void Partition::write_counts(std::int32_t* counts) const {
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    for (const Sorted& table : tables_) {
      *counts++ = static_cast<std::int32_t>(table.answers[rank + 1] - table.answers[rank]);
    }
  }
}

}  // namespace recmigrate::exchange
