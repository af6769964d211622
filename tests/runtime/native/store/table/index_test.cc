// The index: every key is storable, equal hashes are told apart, growth loses nothing, and std::unordered_map agrees.
#include "store/rows/index.h"

#include <algorithm>
#include <limits>
#include <random>
#include <unordered_map>
#include <vector>

#include "check.h"
#include "store/errors.h"

namespace {

using recmigrate::Index;
using recmigrate::kAbsent;
using recmigrate::Slot;

using recmigrate::hash_key;

Slot find(const Index& index, std::int64_t key) { return index.find(hash_key(key), key); }

Slot insert(Index& index, std::int64_t key) {
  const auto slot = static_cast<Slot>(index.size());
  index.reserve(index.size() + 1);
  index.insert(hash_key(key), key, slot);
  return slot;
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

// What a search goes by: the hash without the shard.
std::uint64_t without_shard(std::uint64_t hash) { return hash << recmigrate::kShardBits >> recmigrate::kShardBits; }

// A key with this hash, but for its shard: the rest comes from a bijection, so collisions can be made to order.
std::int64_t key_with_hash(std::uint64_t hash) {
  std::uint64_t word = unshift(hash << recmigrate::kShardBits, 31) * inverse(0x94d049bb133111ebULL);
  word = unshift(word, 27) * inverse(0xbf58476d1ce4e5b9ULL);
  return static_cast<std::int64_t>(unshift(word, 30));
}

TEST(index_stores_extreme_keys) {
  using Limits = std::numeric_limits<std::int64_t>;
  Index index;
  Slot next = 0;
  for (const std::int64_t key : {std::int64_t{0}, std::int64_t{-1}, Limits::min(), Limits::max(), std::int64_t{1}}) {
    CHECK(find(index, key) == kAbsent);
    CHECK(insert(index, key) == next);
    CHECK(find(index, key) == next);
    ++next;
  }
  CHECK(index.size() == 5);
}

TEST(index_finds_keys_behind_full_lines_and_deletes_them) {
  Index index;
  // The same line for all; one more stays out.
  constexpr std::uint64_t kHash = 0x00000000ffffffffULL;
  const auto key = [](std::uint64_t i) { return key_with_hash(kHash | i << 32); };
  for (std::uint64_t i = 0; i < 40; ++i) {
    CHECK(without_shard(hash_key(key(i))) == (kHash | i << 32));
    CHECK(insert(index, key(i)) == i);
  }
  for (std::uint64_t i = 0; i < 40; ++i) CHECK(find(index, key(i)) == i);
  CHECK(find(index, key(40)) == kAbsent && index.erase(hash_key(key(40)), key(40)) == kAbsent);
  for (std::uint64_t i = 0; i < 40; i += 2) CHECK(index.erase(hash_key(key(i)), key(i)) == i);
  for (std::uint64_t i = 0; i < 40; ++i) CHECK(find(index, key(i)) == (i % 2 == 0 ? kAbsent : i));
  for (std::uint64_t i = 1; i < 40; i += 2) CHECK(index.erase(hash_key(key(i)), key(i)) == i);
  CHECK(index.size() == 0 && find(index, key(1)) == kAbsent);
}

TEST(index_agrees_with_unordered_map) {
  std::mt19937_64 random(11);
  Index index(0.7);
  std::unordered_map<std::int64_t, Slot> oracle;
  for (Slot step = 0; step < 120000; ++step) {
    const auto key = static_cast<std::int64_t>(random() % 3 == 0 ? random() : random() % 20000) - 10000;
    const auto found = oracle.find(key);
    const Slot wanted = found == oracle.end() ? kAbsent : found->second;
    CHECK(find(index, key) == wanted);
    if (wanted == kAbsent && random() % 2 == 0) {
      index.reserve(index.size() + 1);
      index.insert(hash_key(key), key, step);
      oracle.emplace(key, step);
    } else if (random() % 3 == 0) {
      CHECK(index.erase(hash_key(key), key) == wanted);
      oracle.erase(key);
    }
  }
  CHECK(index.size() == oracle.size());
  std::size_t seen = 0;
  index.for_each([&](std::int64_t key, Slot slot) {
    CHECK(oracle.at(key) == slot);
    ++seen;
  });
  CHECK(seen == oracle.size());
}

TEST(index_tells_what_growing_will_cost) {
  for (const double phase : {0.0, 0.3, 0.9}) {
    Index index(phase);
    for (std::int64_t key = 0; key < 5000; ++key) {
      const std::size_t told = index.bytes_for(index.size() + 1);
      insert(index, key);
      CHECK(index.bytes() == told);
    }
    CHECK(index.bytes() < 5000 * 24);
  }
}

TEST(index_refuses_more_rows_than_slots) {
  Index index;
  CHECK_THROWS(recmigrate::LimitReached, index.reserve(std::size_t{1} << 33), "2147483647");
  CHECK(insert(index, 5) == 0);
}

// Keys whose line is `line` of `lines`.
std::vector<std::int64_t> keys_of_line(std::uint64_t line, std::uint64_t lines, std::size_t count) {
  std::vector<std::int64_t> keys;
  const std::uint64_t begin = ((line << 32) + lines - 1) / lines;
  for (std::uint64_t i = 0; i < count; ++i) keys.push_back(key_with_hash(begin + i));
  return keys;
}

TEST(index_search_ends_after_lines_went_past_each_other) {
  Index index;  // two lines
  const std::vector<std::int64_t> first = keys_of_line(0, 2, 8);
  const std::vector<std::int64_t> second = keys_of_line(1, 2, 8);
  index.reserve(8);
  CHECK(index.bytes() == 128);
  for (std::size_t i = 0; i < 6; ++i) index.insert(hash_key(first[i]), first[i], static_cast<Slot>(i));
  for (std::size_t i = 0; i < 5; ++i) CHECK(index.erase(hash_key(first[i]), first[i]) == i);
  for (std::size_t i = 0; i < 5; ++i) index.insert(hash_key(second[i]), second[i], static_cast<Slot>(10 + i));
  CHECK(find(index, first[7]) == kAbsent && find(index, second[7]) == kAbsent);
  CHECK(index.erase(hash_key(first[7]), first[7]) == kAbsent);
  CHECK(find(index, first[5]) == 5 && find(index, second[4]) == 14);
}

// Few lines that are nearly full, and keys that come and go: each deletion draws back what went past.
TEST(small_index_stays_right_while_keys_come_and_go) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 40; ++round) {
    Index index(round / 40.0);
    std::unordered_map<std::int64_t, Slot> oracle;
    const std::size_t most = 8 + random() % 40;
    for (int step = 0; step < 4000; ++step) {
      const auto key = static_cast<std::int64_t>(random() % (2 * most));
      const auto known = oracle.find(key);
      CHECK(find(index, key) == (known == oracle.end() ? kAbsent : known->second));
      if (known != oracle.end()) {
        CHECK(index.erase(hash_key(key), key) == known->second);
        oracle.erase(known);
      } else if (oracle.size() < most) {
        index.reserve(oracle.size() + 1);
        index.insert(hash_key(key), key, static_cast<Slot>(step));
        oracle[key] = static_cast<Slot>(step);
      }
    }
    for (const auto& [key, slot] : oracle) CHECK(find(index, key) == slot);
    std::size_t visited = 0;
    index.for_each([&](std::int64_t key, Slot slot) { visited += oracle.at(key) == slot ? 1 : 0; });
    CHECK(visited == oracle.size() && index.size() == oracle.size());
  }
}

// Keys of the last line find no place there and go on at the first, from which keys have moved already.
TEST(index_keeps_keys_behind_its_last_line_while_keys_move) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 20; ++round) {
    Index index(round / 20.0);
    std::unordered_map<std::int64_t, Slot> oracle;
    for (Slot step = 0; step < 3000; ++step) {
      const std::uint64_t pile = random() % 64;
      const std::uint64_t low[] = {0xffffffffU - pile, pile, random() & 0xffffffffU};
      const std::int64_t key = key_with_hash(low[random() % 3] | (random() % 2) << 32);
      const auto known = oracle.find(key);
      CHECK(find(index, key) == (known == oracle.end() ? kAbsent : known->second));
      if (known == oracle.end()) {
        index.reserve(index.size() + 1);
        index.insert(hash_key(key), key, step);
        oracle.emplace(key, step);
      } else if (random() % 2 == 0) {
        CHECK(index.erase(hash_key(key), key) == known->second);
        oracle.erase(known);
      }
      if (step % 50 != 0) continue;
      std::size_t visited = 0;
      index.for_each([&](std::int64_t each, Slot slot) { visited += oracle.at(each) == slot ? 1 : 0; });
      CHECK(visited == oracle.size() && index.size() == oracle.size());
    }
    for (const auto& [key, slot] : oracle) CHECK(find(index, key) == slot);
  }
}

TEST(index_finds_all_keys_between_any_two_reservations) {
  Index index;
  for (std::int64_t key = 0; key < 3000; ++key) {
    insert(index, key);
    for (std::int64_t each = key % 7; each <= key; each += 7) CHECK(find(index, each) == each);
    CHECK(find(index, key + 1) == kAbsent);
  }
}

TEST(indexes_of_other_phases_grow_at_other_sizes) {
  constexpr int kPhases = 64;
  constexpr std::size_t kFrom = 20000;
  constexpr std::size_t kTo = 27000;  // 1.35 times as many
  std::vector<int> growing((kTo - kFrom) / 200);
  for (int phase = 0; phase < kPhases; ++phase) {
    Index index(static_cast<double>(phase) / kPhases);
    index.reserve(kFrom);
    int grown = 0;
    for (std::size_t rows = kFrom; rows < kTo; ++rows) {
      const std::size_t before = index.bytes();
      index.reserve(rows + 1);
      if (index.bytes() == before) continue;
      ++grown;
      ++growing[(rows - kFrom) / 200];
    }
    CHECK(grown == 1);
  }
  for (const int many : growing) CHECK(many <= 4);
}

}  // namespace
