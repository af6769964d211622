// Tables with tiers for tests, and the comparison with a table in memory alone.
#pragma once

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "fixtures.h"

namespace tier_fixtures {

using recmigrate::OptimizerKind;
using recmigrate::Table;

using TierIds = std::vector<std::int64_t>;

constexpr std::size_t kTierDim = 4;
constexpr std::int64_t kTierKeys = 1500;  // of the comparison: so few that rows come and go, and compactions have work

inline std::string tier_folder() {
  const char* const given = std::getenv("TMPDIR");
  return std::string(given == nullptr ? "/tmp" : given) + "/recmigrate-tiers-test";
}

inline recmigrate::TableConfig with_tiers(const std::string& list, const std::string& more = "") {
  auto config = fixtures::config(kTierDim);
  config.parse_options("tiers=" + list + ";tier_folder=" + tier_folder() + ";tier_segment=4096" + more);
  return config;
}

inline std::vector<float> read_tiers(Table& table, const TierIds& keys, bool insert) {
  std::vector<float> out(keys.size() * kTierDim);
  insert ? table.lookup_or_insert(keys.data(), keys.size(), out.data())
         : table.lookup(keys.data(), keys.size(), out.data());
  return out;
}

// The same random calls on both; every result must have the same bits.
inline void compare_tiers(Table& plain, Table& tiered, OptimizerKind kind, unsigned seed, int steps) {
  std::mt19937_64 random(seed);
  for (int step = 0; step < steps; ++step) {
    TierIds keys = fixtures::skewed_keys(1 + random() % 300, seed + static_cast<unsigned>(step));
    for (std::int64_t& key : keys) key %= kTierKeys;
    switch (random() % 8) {
      case 0:
        CHECK(read_tiers(plain, keys, false) == read_tiers(tiered, keys, false));
        break;
      case 1: {
        const std::vector<float> values = fixtures::gradients(keys.size() * kTierDim, seed);
        plain.upsert(keys.data(), keys.size(), values.data());
        tiered.upsert(keys.data(), keys.size(), values.data());
        break;
      }
      case 2:
        CHECK(plain.remove(keys.data(), keys.size() / 4) == tiered.remove(keys.data(), keys.size() / 4));
        break;
      case 3:
        tiered.drain();
        break;
      default: {
        if (step % 2 == 0) tiered.drain();
        CHECK(read_tiers(plain, keys, true) == read_tiers(tiered, keys, true));
        const std::vector<float> grads =
            fixtures::gradients(keys.size() * kTierDim, seed + static_cast<unsigned>(step));
        plain.apply(keys.data(), keys.size(), grads.data(), fixtures::update(kind));
        tiered.apply(keys.data(), keys.size(), grads.data(), fixtures::update(kind));
      }
    }
    CHECK(plain.size() == tiered.size());
  }
  const fixtures::Snapshot a = fixtures::sorted(fixtures::snapshot(plain), kTierDim);
  const fixtures::Snapshot b = fixtures::sorted(fixtures::snapshot(tiered), kTierDim);
  CHECK(a.keys == b.keys);
  CHECK(a.values == b.values);
  CHECK(a.slots == b.slots);
}

}  // namespace tier_fixtures
