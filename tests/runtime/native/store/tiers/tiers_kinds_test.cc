// Every medium below memory, alone and as the second or third of three tiers.
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

#include "check.h"
#include "store/errors.h"
#include "store/tiers/lower_tier.h"
#include "store/tiers/scratch_folder.h"
#include "tier_fixtures.h"

namespace {

using namespace tier_fixtures;
using recmigrate::LowerTier;
using recmigrate::Medium;
using recmigrate::Slot;
using recmigrate::StorageFailed;

// Tests of LevelDB run where RECMIGRATE_LEVELDB or the system has its library.
std::vector<std::string> kinds_of(const std::vector<std::string>& all) {
  static const bool has_leveldb = [] {
    try {
      const Table tried(with_tiers("memory:4000,leveldb"));
      return true;
    } catch (const recmigrate::InvalidInput&) {
      return false;
    }
  }();
  std::vector<std::string> some;
  for (const std::string& kind : all) {
    if (has_leveldb || kind.find("leveldb") == std::string::npos) some.push_back(kind);
  }
  return some;
}

TEST(tiers_of_every_kind_give_the_same_bits) {
  for (const std::string& kind : kinds_of({"memory:4000,mapped", "memory:4000,leveldb", "memory:4000,mapped:8000,log",
                                           "memory:4000,mapped:8000,leveldb"})) {
    for (const OptimizerKind optimizer : {OptimizerKind::adagrad, OptimizerKind::lazy_adam}) {
      Table plain(fixtures::config(kTierDim));
      Table tiered(with_tiers(kind, optimizer == OptimizerKind::adagrad ? ";tier_policy=lru" : ""));
      compare_tiers(plain, tiered, optimizer, 21, 200);
      tiered.drain();
      const auto status = tiered.tier_status();
      std::size_t rows = 0;
      for (std::size_t t = 0; t < status.size(); ++t) {
        rows += status[t].use.rows;
        CHECK(t + 1 == status.size() || status[t].use.rows <= status[t].capacity);
        CHECK(t == 0 || status[t].found > 10);
      }
      CHECK(rows == tiered.size());
      CHECK(status.back().use.rows > 20);
    }
  }
}

// What a medium has to do, checked against a map.
void exercise(LowerTier& tier, unsigned seed) {
  constexpr std::size_t kFloats = 7;
  std::mt19937_64 random(seed);
  std::map<std::int64_t, std::pair<Slot, std::vector<float>>> held;
  std::vector<std::pair<std::int64_t, std::pair<Slot, std::vector<float>>>> dropped;
  const auto check = [&](std::int64_t key, const std::pair<Slot, std::vector<float>>& row) {
    std::vector<float> out(kFloats);
    float* const to = out.data();
    tier.get(&key, &row.first, 1, &to);
    CHECK(out == row.second);
  };
  for (int step = 0; step < 600; ++step) {
    for (int i = 0; i < 5; ++i) {
      const auto key = static_cast<std::int64_t>(random() % 300) - 2;
      const auto known = held.find(key);
      if (known != held.end()) {
        tier.drop(&key, &known->second.first, 1);
        dropped.emplace_back(key, known->second);
        held.erase(known);
      }
      std::vector<float> row(kFloats);
      for (float& value : row) value = static_cast<float>(random());
      const float* const from = row.data();
      Slot place = recmigrate::kAbsent;
      tier.put(&key, &from, 1, &place);
      held[key] = {place, row};
    }
    const auto some = held.lower_bound(static_cast<std::int64_t>(random() % 300) - 2);
    if (some != held.end()) check(some->first, some->second);
    if (!dropped.empty()) check(dropped.back().first, dropped.back().second);
    if (step % 3 == 0) tier.flush();
    if (step % 20 == 0) {
      for (const auto& one : dropped) check(one.first, one.second);
      tier.settle();
      dropped.clear();
    }
  }
  tier.flush();
  for (const auto& one : held) check(one.first, one.second);
  CHECK(tier.use().rows == held.size());
}

TEST(tiers_keep_dropped_places_until_they_settle) {
  for (const std::string& kind : kinds_of({"mapped", "log", "leveldb"})) {
    const Medium medium = kind == "mapped" ? Medium::mapped : kind == "log" ? Medium::log : Medium::leveldb;
    const auto tier = recmigrate::make_tier(medium, {tier_folder(), "table 'kept'", 7, 0, 4096, ""});
    exercise(*tier, 5);
  }
}

// A quarter of it is dead: that is worth nothing as long as there is space.
TEST(tiers_in_a_log_are_compacted_sooner_where_space_is_scarce) {
  constexpr std::size_t kFloats = 7;
  constexpr std::size_t kRows = 2000;
  const auto tier = recmigrate::make_tier(Medium::log, {tier_folder(), "table 'scarce'", kFloats, 0, 4096, ""});
  const std::vector<float> row(kFloats, 1.0F);
  const float* const from = row.data();
  TierIds keys(kRows);
  std::vector<Slot> places(kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    keys[i] = static_cast<std::int64_t>(i);
    tier->put(&keys[i], &from, 1, &places[i]);
  }
  tier->flush();
  for (std::size_t i = 0; i < kRows; i += 4) tier->drop(&keys[i], &places[i], 1);
  recmigrate::StoredRows found;
  CHECK(!tier->worth_moving(found, false) && found.keys.empty());
  CHECK(tier->worth_moving(found, true) && !found.keys.empty());
}

TEST(tiers_of_a_size_are_full_at_it) {
  for (const std::string& kind : kinds_of({"mapped", "leveldb"})) {
    Table tiered(with_tiers("memory:2000," + kind + ":20000"));
    TierIds keys(5000);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(i);
    const std::vector<float> rows = read_tiers(tiered, keys, true);
    CHECK_THROWS(StorageFailed, tiered.drain(), "may use 20000 bytes");
    CHECK(tiered.remove(keys.data(), 4700) == 4700);
    tiered.drain();
    CHECK(tiered.tier_status()[0].use.rows <= tiered.tier_status()[0].capacity);
    const std::vector<float> rest = read_tiers(tiered, TierIds(keys.begin() + 4700, keys.end()), false);
    CHECK(std::equal(rest.begin(), rest.end(), rows.begin() + 4700 * kTierDim));
  }
}

TEST(tiers_in_a_small_log_compact_it_and_say_when_it_is_full) {
  Table plain(fixtures::config(kTierDim));
  Table tiered(with_tiers("memory:4000,log:450000"));
  compare_tiers(plain, tiered, OptimizerKind::adagrad, 31, 150);
  std::mt19937_64 random(3);
  TierIds keys(500);
  std::uint64_t written = 0;
  for (int step = 0; step < 60; ++step) {  // 1500 rows of 72 bytes, rewritten again and again
    for (std::int64_t& key : keys) key = static_cast<std::int64_t>(random() % 1500);
    read_tiers(tiered, keys, true);
    tiered.drain();
    const recmigrate::TierUse use = tiered.tier_status()[1].use;
    CHECK(use.medium_bytes <= 450000);
    written = use.written_rows;
  }
  CHECK(written > 5000 && tiered.tier_status()[1].use.compactions > 10);
  TierIds many(8000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::int64_t>(100000 + i);
  const std::vector<float> rows = read_tiers(tiered, many, true);
  CHECK_THROWS(StorageFailed, tiered.drain(), "may use 450000 bytes");
  CHECK_THROWS(StorageFailed, tiered.drain(), "may use 450000 bytes");
  CHECK(read_tiers(plain, many, true) == rows);
  tiered.remove(many.data(), 7900);
  tiered.drain();
  CHECK(tiered.tier_status()[0].use.rows <= tiered.tier_status()[0].capacity);
  CHECK(read_tiers(tiered, TierIds(many.begin() + 7900, many.end()), false) ==
        std::vector<float>(rows.begin() + 7900 * kTierDim, rows.end()));
}

TEST(tiers_leave_no_folder_behind) {
  namespace fs = std::filesystem;
  const std::string folder = tier_folder() + "/left";
  fs::remove_all(folder);
  fs::create_directories(folder + "/recmigrate-1-2");
  fclose(fopen((folder + "/recmigrate-1-2.lock").c_str(), "w"));
  fclose(fopen((folder + "/recmigrate-1-2/LOCK").c_str(), "w"));
  fclose(fopen((folder + "/mine").c_str(), "w"));
  std::string path;
  {
    const recmigrate::ScratchFolder first(folder, "table 'left'");
    CHECK(!fs::exists(folder + "/recmigrate-1-2") && !fs::exists(folder + "/recmigrate-1-2.lock"));
    path = first.path();
    const recmigrate::ScratchFolder second(folder, "table 'left'");
    CHECK(fs::exists(path) && fs::exists(second.path()) && path != second.path());
  }
  CHECK(!fs::exists(path) && !fs::exists(path + ".lock") && fs::exists(folder + "/mine"));
  fs::remove_all(folder);
}

}  // namespace
