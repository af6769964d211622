// The index: every key is storable, equal hashes are told apart, growth loses nothing, and std::unordered_map agrees.
#include "store/index.h"

#include <limits>
#include <random>
#include <unordered_map>

#include "check.h"
#include "store/errors.h"

namespace {

using recmigrate::Index;
using recmigrate::kAbsent;
using recmigrate::kBlock;
using recmigrate::Slot;

Slot insert(Index& index, std::int64_t key) {
  index.reserve(index.size() + 1);
  return index.insert_new(key);
}

// Undoes word ^= word >> shift.
std::uint64_t unshift(std::uint64_t word, int shift) {
  std::uint64_t result = word;
  for (int done = shift; done < 64; done += shift) result = word ^ (result >> shift);
  return result;
}

std::uint64_t inverse(std::uint64_t odd) {
  std::uint64_t result = odd;
  for (int i = 0; i < 6; ++i) result *= 2 - odd * result;
  return result;
}

// The key whose hash is `hash`: the hash is a bijection, so collisions can be made to order.
std::int64_t key_with_hash(std::uint64_t hash) {
  std::uint64_t word = unshift(hash, 31) * inverse(0x94d049bb133111ebULL);
  word = unshift(word, 27) * inverse(0xbf58476d1ce4e5b9ULL);
  return static_cast<std::int64_t>(unshift(word, 30));
}

TEST(index_stores_extreme_keys) {
  using Limits = std::numeric_limits<std::int64_t>;
  Index index;
  Slot next = 0;
  for (const std::int64_t key : {std::int64_t{0}, std::int64_t{-1}, Limits::min(), Limits::max(), std::int64_t{1}}) {
    CHECK(index.find(key) == kAbsent);
    CHECK(insert(index, key) == next);
    CHECK(index.find(key) == next);
    ++next;
  }
  CHECK(index.size() == 5);
}

TEST(index_tells_equal_fingerprints_apart) {
  Index index;
  // Same fingerprint (upper half) and same home bucket (low bits) for all; one more stays out.
  constexpr std::uint64_t kHash = 0x1234567800000007ULL;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const std::int64_t key = key_with_hash(kHash + (i << 16));
    CHECK(recmigrate::hash_key(key) == kHash + (i << 16));
    CHECK(insert(index, key) == i);
  }
  for (std::uint64_t i = 0; i < 40; ++i) CHECK(index.find(key_with_hash(kHash + (i << 16))) == i);
  CHECK(index.find(key_with_hash(kHash + (std::uint64_t{40} << 16))) == kAbsent);
}

TEST(index_wraps_around_the_last_bucket) {
  Index index;
  for (std::uint64_t i = 0; i < 8; ++i) insert(index, key_with_hash((i << 40) | 63));
  for (std::uint64_t i = 0; i < 8; ++i) CHECK(index.find(key_with_hash((i << 40) | 63)) == i);
  CHECK(index.find(key_with_hash((std::uint64_t{8} << 40) | 63)) == kAbsent);
}

TEST(index_agrees_with_unordered_map) {
  std::mt19937_64 random(11);
  Index index;
  std::unordered_map<std::int64_t, Slot> oracle;
  for (int step = 0; step < 60000; ++step) {
    const auto key = static_cast<std::int64_t>(random() % 3 == 0 ? random() : random() % 20000) - 10000;
    const auto found = oracle.find(key);
    CHECK(index.find(key) == (found == oracle.end() ? kAbsent : found->second));
    if (found == oracle.end() && random() % 2 == 0) oracle.emplace(key, insert(index, key));
  }
  CHECK(index.size() == oracle.size());
  for (const auto& [key, slot] : oracle) CHECK(index.keys()[slot] == key);
}

TEST(index_block_equals_single_finds) {
  Index index;
  for (std::int64_t key = 0; key < 1000; ++key) insert(index, key * key);
  for (std::size_t count = 0; count <= kBlock; ++count) {
    std::vector<std::int64_t> keys(count);
    for (std::size_t i = 0; i < count; ++i) keys[i] = static_cast<std::int64_t>(i * 3);
    std::vector<Slot> slots(count);
    index.find_block(keys.data(), count, slots.data(), [&](Slot slot) { CHECK(slot < index.size()); });
    for (std::size_t i = 0; i < count; ++i) CHECK(slots[i] == index.find(keys[i]));
  }
}

TEST(index_refuses_more_rows_than_slots) {
  Index index;
  CHECK_THROWS(recmigrate::LimitReached, index.reserve(std::size_t{1} << 33), "4294967295");
  CHECK(insert(index, 5) == 0);
}

}  // namespace
