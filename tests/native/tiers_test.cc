// Tables with tiers below memory: the same rows as without, wherever they lie.
#include <cstdlib>
#include <random>
#include <set>

#include "check.h"
#include "fixtures.h"
#include "store/errors.h"
#include "store/tiers/lower_tier.h"

namespace {

using recmigrate::Admission;
using recmigrate::InvalidInput;
using recmigrate::OptimizerKind;
using recmigrate::Table;

using TierIds = std::vector<std::int64_t>;

constexpr std::size_t kTierDim = 4;

std::string tier_folder() {
  const char* const given = std::getenv("TMPDIR");
  return std::string(given == nullptr ? "/tmp" : given) + "/recmigrate-tiers-test";
}

recmigrate::TableConfig with_tiers(const std::string& list, const std::string& more = "") {
  auto config = fixtures::config(kTierDim);
  config.parse_options("tiers=" + list + ";tier_folder=" + tier_folder() + ";tier_segment=4096" + more);
  return config;
}

std::vector<float> read_tiers(Table& table, const TierIds& keys, bool insert) {
  std::vector<float> out(keys.size() * kTierDim);
  insert ? table.lookup_or_insert(keys.data(), keys.size(), out.data()) : table.lookup(keys.data(), keys.size(), out.data());
  return out;
}

// The same random calls on both; every result must have the same bits.
void compare_tiers(Table& plain, Table& tiered, OptimizerKind kind, unsigned seed, int steps) {
  std::mt19937_64 random(seed);
  for (int step = 0; step < steps; ++step) {
    const TierIds keys = fixtures::skewed_keys(1 + random() % 300, seed + static_cast<unsigned>(step));
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
        const std::vector<float> grads = fixtures::gradients(keys.size() * kTierDim, seed + static_cast<unsigned>(step));
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

TEST(tiers_give_the_same_bits_as_memory_alone) {
  std::uint64_t compactions = 0;
  for (const OptimizerKind kind : {OptimizerKind::adagrad, OptimizerKind::lazy_adam}) {
    for (const char* policy : {"lfu", "lru"}) {
      Table plain(fixtures::config(kTierDim));
      Table tiered(with_tiers("memory:4000,log", std::string(";tier_policy=") + policy));
      compare_tiers(plain, tiered, kind, 11, 300);
      tiered.drain();
      const auto status = tiered.tier_status();
      CHECK(status.size() == 2);
      CHECK(status[0].use.rows <= status[0].capacity);
      CHECK(status[1].use.rows + status[0].use.rows == tiered.size());
      CHECK(status[1].found > 100);
      CHECK(status[1].use.written_rows > 100);
      compactions += status[1].use.compactions;
      CHECK(status[1].use.medium_bytes < 3 * 64 * status[1].use.rows + (1 << 16));
    }
  }
  CHECK(compactions > 10);
}

TEST(tiers_restore_and_reset) {
  Table tiered(with_tiers("memory:2000,log"));
  const TierIds keys = fixtures::skewed_keys(5000, 3);
  const std::vector<float> before = read_tiers(tiered, keys, true);
  tiered.drain();
  const fixtures::Snapshot saved = fixtures::snapshot(tiered);
  CHECK(saved.keys.size() == tiered.size());
  tiered.reset();
  CHECK(tiered.size() == 0);
  fixtures::import_rows(tiered, saved);
  tiered.drain();
  CHECK(tiered.tier_status()[1].use.rows > 100);
  CHECK(read_tiers(tiered, keys, false) == before);
}

TEST(tiers_hold_what_was_used_most) {
  Table tiered(with_tiers("memory:64,log", ";tier_bytes=values"));  // four rows of four floats
  const std::vector<float> unused = read_tiers(tiered, {1, 2, 3, 4, 5, 6}, true);
  static_cast<void>(read_tiers(tiered, {4, 5}, true));
  tiered.drain();
  std::int32_t found[7];
  const TierIds keys = {1, 2, 3, 4, 5, 6, 7};
  tiered.tiers_of(keys.data(), keys.size(), found);
  CHECK((std::vector<std::int32_t>(found, found + 7) == std::vector<std::int32_t>{1, 1, 0, 0, 0, 0, -1}));
}

TEST(tiers_refuse_what_they_cannot_be) {
  CHECK_THROWS(InvalidInput, Table(with_tiers("memory:100")), "one or two below");
  CHECK_THROWS(InvalidInput, Table(with_tiers("memory,log")), "does not say how many bytes");
  CHECK_THROWS(InvalidInput, Table(with_tiers("memory:1,disk")), "tier 'disk'");
  CHECK_THROWS(InvalidInput, Table(with_tiers("memory:1,log", ";max_bytes=100000")), "tiers and max_bytes");
  auto config = with_tiers("memory:1,log");
  config.tier_folder = "/proc/nowhere";
  CHECK_THROWS(recmigrate::StorageFailed, Table{config}, "'/proc/nowhere'");
}

}  // namespace
