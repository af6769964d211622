#include "store/exchange/inbox.h"

#include <algorithm>
#include <string>

#include "store/errors.h"

namespace recmigrate::exchange {

Inbox::Inbox(const std::int64_t* message, std::size_t size, const std::int32_t* lengths, std::size_t ranks,
             std::size_t tables)
    : tables_(tables) {
  parts_.reserve(ranks * tables);
  std::size_t at = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::int64_t length = lengths[rank];
    if (length < static_cast<std::int64_t>(tables) || static_cast<std::size_t>(length) > size - at) {
      fail_invalid("a message of keys has " + std::to_string(size) + " values, which are too few or too many");
    }
    const std::int64_t* next = message + at + tables;
    std::size_t left = static_cast<std::size_t>(length) - tables;
    for (std::size_t table = 0; table < tables; ++table) {
      const std::int64_t told = message[at + table];
      const bool summed = told < 0;
      const std::int64_t number = summed ? ~told : told;
      const std::size_t count = keys_of_count(number);
      if (count > left) {
        fail_invalid("rank " + std::to_string(rank) + " sends " + std::to_string(length) +
                     " values, and has announced another number: all ranks must make the same lookups");
      }
      AskedPart& part = parts_.emplace_back(AskedPart{next, count, std::nullopt, std::nullopt});
      next += count;
      left -= count;
      if (const std::size_t bytes = bytes_of_count(number); bytes != 0) {
        part.times.emplace(next, left, count, bytes);
        next += part.times->size();
        left -= part.times->size();
      }
      if (!summed) continue;
      part.sums.emplace(next, left, count);
      next += part.sums->size();
      left -= part.sums->size();
    }
    if (left != 0) {
      fail_invalid("rank " + std::to_string(rank) +
                   " sends more keys than it says: all ranks must make the same lookups");
    }
    at += static_cast<std::size_t>(length);
  }
  if (at != size) fail_invalid("a message of keys has " + std::to_string(size) + " values, not " + std::to_string(at));
}

std::size_t Inbox::keys_of(std::size_t table) const noexcept {
  std::size_t sum = 0;
  for (std::size_t i = table; i < parts_.size(); i += tables_) sum += parts_[i].occurrences();
  return sum;
}

void Inbox::write_keys(std::size_t table, std::int64_t* keys) const {
  for (std::size_t i = table; i < parts_.size(); i += tables_) {
    const AskedPart& part = parts_[i];
    if (!part.times) {
      keys = std::copy_n(part.keys, part.count, keys);
      continue;
    }
    for (std::size_t k = 0; k < part.count; ++k) keys = std::fill_n(keys, part.times->of(k), part.keys[k]);
  }
}

std::vector<std::int32_t> Inbox::answers() const {
  std::vector<std::int32_t> counts;
  counts.reserve(parts_.size());
  for (const AskedPart& part : parts_) counts.push_back(static_cast<std::int32_t>(part.answers()));
  return counts;
}

}  // namespace recmigrate::exchange
