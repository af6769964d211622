// Counters of keys without a row: against a map over random sequences, and what a Bloom filter promises.
#include "store/admission/admission.h"

#include <limits>
#include <map>
#include <random>

#include "check.h"
#include "store/admission/bloom.h"
#include "store/errors.h"
#include "store/hash.h"

namespace {

using recmigrate::BloomConfig;
using recmigrate::CountingBloom;
using recmigrate::hash_key;
using recmigrate::InvalidInput;
using recmigrate::Sighting;
using recmigrate::Sightings;

TEST(sightings_are_those_of_a_map_over_random_sequences) {
  std::mt19937_64 random(1);
  Sightings sightings;
  std::map<std::int64_t, Sighting> wanted;
  for (int i = 0; i < 20000; ++i) {
    const auto key = static_cast<std::int64_t>(random() % 600) - 300;
    if (random() % 3 == 0) {
      CHECK(sightings.erase(hash_key(key), key) == (wanted.erase(key) == 1));
      continue;
    }
    sightings.reserve(1);
    Sighting seen = sightings.find(hash_key(key), key);
    CHECK(seen.count == wanted[key].count && seen.last_seen == wanted[key].last_seen);
    seen = {seen.count + 1 + static_cast<std::uint32_t>(random() % 5), static_cast<std::uint32_t>(i)};
    sightings.put(hash_key(key), key, seen);
    wanted[key] = seen;
  }
  CHECK(sightings.size() == wanted.size());
  std::size_t visited = 0;
  sightings.for_each([&](std::int64_t key, const Sighting& seen) {
    CHECK(wanted.at(key).count == seen.count && wanted.at(key).last_seen == seen.last_seen);
    ++visited;
  });
  CHECK(visited == wanted.size());
}

TEST(sightings_take_every_key_and_little_memory) {
  Sightings sightings;
  CHECK(sightings.find(hash_key(0), 0).count == 0 && !sightings.erase(hash_key(0), 0));
  constexpr std::int64_t kCount = 10000;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const std::int64_t key = i == 0 ? std::numeric_limits<std::int64_t>::min() : i - 2;
    sightings.reserve(1);
    sightings.put(hash_key(key), key, {1, 0});
  }
  CHECK(sightings.size() == kCount && sightings.find(hash_key(-1), -1).count == 1);
  CHECK(sightings.find(hash_key(0), 0).count == 1 && sightings.bytes() <= 33 * kCount);
}

TEST(sightings_forget_no_key_while_all_find_room) {
  Sightings sightings;
  sightings.reserve(40);
  for (std::int64_t key = 0; key < 40; ++key) sightings.put(hash_key(key), key, {1, 1});
  sightings.thin(sightings.most() - 40);
  CHECK(sightings.size() == 40);
  sightings.thin(sightings.most() - 39);
  CHECK(sightings.size() < 40);
}

TEST(counts_never_wrap) {
  CHECK(recmigrate::add_saturated(0xfffffff0U, 0xffffffffffffffffULL) == 0xffffffffU);
  CHECK(recmigrate::add_saturated(3, 4) == 7);
}

TEST(bloom_counts_no_key_too_low_and_few_too_high) {
  std::mt19937_64 random(2);
  CountingBloom bloom({2000, 0.01, 16}, 1);
  std::map<std::int64_t, std::uint32_t> wanted;
  for (int i = 0; i < 20000; ++i) {
    const auto key = static_cast<std::int64_t>(random() % 2000);
    const std::uint64_t more = 1 + random() % 3;
    wanted[key] += static_cast<std::uint32_t>(more);
    CHECK(bloom.add(hash_key(key), more) >= wanted[key]);
  }
  std::size_t too_high = 0;
  for (const auto& [key, count] : wanted) {
    CHECK(bloom.count(hash_key(key)) >= count);
    too_high += bloom.count(hash_key(key)) > count ? 1 : 0;
  }
  std::size_t never_seen = 0;
  for (std::int64_t key = 2000; key < 12000; ++key) never_seen += bloom.count(hash_key(key)) != 0 ? 1 : 0;
  CHECK(too_high <= 40 && never_seen <= 200);
}

TEST(bloom_counters_stay_full_and_travel) {
  for (const std::int64_t bits : {8, 16, 32}) {
    CountingBloom bloom({100, 0.01, bits}, 4);
    CHECK(bloom.most() == (std::uint64_t{1} << bits) - 1);
    CHECK(bloom.add(hash_key(5), 200) == 200 && bloom.add(hash_key(5), 1ULL << 40) == bloom.most());
    CHECK(bloom.add(hash_key(5), 1) == bloom.most());
    CountingBloom other({100, 0.01, bits}, 4);
    CHECK(other.count(hash_key(5)) == 0);
    other.set_counters(bloom.counters().data());
    CHECK(other.count(hash_key(5)) == bloom.most() && other.bytes() == bloom.bytes());
  }
}

TEST(bloom_refuses_what_it_cannot_be) {
  CHECK_THROWS(InvalidInput, (BloomConfig{0, 0.01, 8}.check("table 'user'")), "1 to 1099511627776");
  CHECK_THROWS(InvalidInput, (BloomConfig{1, 0.0, 8}.check("table 'user'")), "1e-9 to 0.5");
  CHECK_THROWS(InvalidInput, (BloomConfig{1, 0.01, 12}.check("table 'user'")), "8, 16 or 32");
}

}  // namespace
