#include "store/index.h"

#include <algorithm>
#include <string>

#include "store/errors.h"

namespace recmigrate {
namespace {

constexpr std::size_t kSmallest = 64;

// Linear probing stays short while at least a quarter of the buckets is empty.
std::size_t buckets_for(std::size_t rows) {
  std::size_t count = kSmallest;
  while (count / 4 * 3 < rows) count *= 2;
  return count;
}

}  // namespace

Index::Index() : buckets_(kSmallest), mask_(kSmallest - 1) {}

void Index::reserve(std::size_t rows) {
  if (rows > kAbsent) fail_limit("a table holds at most 4294967295 rows, not " + std::to_string(rows));
  if (rows > keys_.capacity()) keys_.reserve(std::max(rows, keys_.capacity() * 2));
  const std::size_t wanted = buckets_for(rows);
  if (wanted <= buckets_.size()) return;
  // Built beside and swapped in: a failed allocation leaves the old index whole.
  std::vector<Bucket> fresh(wanted);
  buckets_.swap(fresh);
  mask_ = wanted - 1;
  for (std::size_t slot = 0; slot < keys_.size(); ++slot) place(keys_[slot], static_cast<Slot>(slot));
}

Slot Index::insert_new(std::int64_t key) noexcept {
  const auto slot = static_cast<Slot>(keys_.size());
  keys_.push_back(key);
  place(key, slot);
  return slot;
}

void Index::place(std::int64_t key, Slot slot) noexcept {
  const std::uint64_t hash = hash_key(key);
  std::size_t at = hash & mask_;
  while (buckets_[at].slot_plus_one != 0) at = (at + 1) & mask_;
  buckets_[at] = Bucket{fingerprint(hash), slot + 1};
}

}  // namespace recmigrate
