// Tables with tiers below memory: the same rows as without, wherever they lie.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "check.h"
#include "fixtures.h"
#include "store/errors.h"
#include "store/tiers/lower_tier.h"
#include "tier_fixtures.h"

namespace {

using namespace tier_fixtures;
using recmigrate::Admission;
using recmigrate::InvalidInput;
using recmigrate::OptimizerKind;
using recmigrate::Table;

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

TEST(tiers_are_read_in_place_without_moving_or_inserting) {
  Table plain(fixtures::config(kTierDim));
  Table tiered(with_tiers("memory:2000,log"));
  TierIds keys(70000);  // of more than one block
  std::iota(keys.begin(), keys.end(), 0);
  const TierIds known(keys.begin(), keys.begin() + 3000);
  const std::vector<float> want = read_tiers(plain, known, true);
  CHECK(read_tiers(tiered, known, true) == want);
  tiered.drain();
  std::vector<std::int32_t> before(known.size());
  std::vector<std::int32_t> after(known.size());
  tiered.tiers_of(known.data(), known.size(), before.data());
  std::vector<float> rows(keys.size() * kTierDim);
  tiered.lookup_in_place(keys.data(), keys.size(), rows.data());
  tiered.tiers_of(known.data(), known.size(), after.data());
  CHECK(before == after);
  CHECK(tiered.size() == known.size());
  CHECK(rows == read_tiers(plain, keys, false));
  CHECK(std::equal(want.begin(), want.end(), rows.begin()));
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

TEST(tiers_hold_what_was_counted_most_before_a_restore) {
  Table tiered(with_tiers("memory:64,log", ";tier_bytes=values"));  // four rows of four floats
  fixtures::Snapshot saved;
  saved.keys = {1, 2, 3, 4, 5, 6};
  saved.values.resize(saved.keys.size() * kTierDim);
  saved.meta.dim = kTierDim;
  saved.meta.seen.tracked = true;
  saved.meta.seen.keys = saved.keys;
  saved.meta.seen.sightings = {{9, 0}, {1, 0}, {7, 0}, {5, 0}, {0, 0}, {8, 0}};
  fixtures::import_rows(tiered, saved);
  tiered.drain();
  std::int32_t found[6];
  tiered.tiers_of(saved.keys.data(), saved.keys.size(), found);
  CHECK((std::vector<std::int32_t>(found, found + 6) == std::vector<std::int32_t>{0, 1, 0, 0, 1, 0}));
}

std::uint64_t found_in_all(const Table& table) {
  std::uint64_t found = 0;
  for (const auto& tier : table.tier_status()) found += tier.found;
  return found;
}

TEST(tiers_keep_the_rows_of_a_batch_for_its_update) {
  Table plain(fixtures::config(kTierDim));
  Table tiered(with_tiers("memory:4000,log"));  // some sixty rows
  TierIds keys(300);
  std::iota(keys.begin(), keys.end(), 0);
  const std::vector<float> grads = fixtures::gradients(keys.size() * kTierDim, 7);
  const auto update = fixtures::update(OptimizerKind::adagrad);
  for (const bool drained_between : {false, false, true, false}) {
    tiered.drain();
    CHECK(read_tiers(plain, keys, true) == read_tiers(tiered, keys, true));
    std::vector<std::int32_t> tiers(keys.size());
    tiered.tiers_of(keys.data(), keys.size(), tiers.data());
    CHECK(tiers == std::vector<std::int32_t>(keys.size(), 0));
    if (drained_between) tiered.drain();
    const std::uint64_t found = found_in_all(tiered);
    plain.apply(keys.data(), keys.size(), grads.data(), update);
    tiered.apply(keys.data(), keys.size(), grads.data(), update);
    // They are looked for again when they have gone down meanwhile, and when the first update gives them slots.
    CHECK((found_in_all(tiered) == found) == (found != 0 && !drained_between));
  }
  CHECK(read_tiers(plain, keys, false) == read_tiers(tiered, keys, false));
}

TEST(tiers_keep_the_rows_of_several_batches_for_their_updates) {
  Table tiered(with_tiers("memory:40000,log"));
  const std::vector<TierIds> batches = {{1, 2}, {3, 4}, {5, 6}};
  const std::vector<float> grads(2 * kTierDim, 1.0F);
  const auto update = fixtures::update(OptimizerKind::adagrad);
  tiered.apply(batches[0].data(), 2, grads.data(), update);  // with slots
  for (const TierIds& keys : batches) static_cast<void>(read_tiers(tiered, keys, true));
  const std::uint64_t found = found_in_all(tiered);
  for (const TierIds& keys : batches) tiered.apply(keys.data(), 2, grads.data(), update);
  CHECK(found_in_all(tiered) == found);
}

// Of the disk, by the unnamed files that this process has in the tests' folder.
std::uint64_t bytes_on_disk() {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    struct stat known{};
    if (target.rfind(tier_folder(), 0) == 0 && stat(entry.path().c_str(), &known) == 0) {
      bytes += static_cast<std::uint64_t>(known.st_blocks) * 512;
    }
  }
  return bytes;
}

TEST(tiers_give_space_back) {
  Table tiered(with_tiers("memory:4000,log"));
  TierIds keys(20000);
  std::iota(keys.begin(), keys.end(), 0);
  static_cast<void>(read_tiers(tiered, keys, true));
  tiered.drain();
  CHECK(bytes_on_disk() > keys.size() * kTierDim * sizeof(float));
  tiered.remove(keys.data(), keys.size());
  tiered.drain();
  CHECK(bytes_on_disk() < 64 << 10);
}

TEST(tiers_refuse_what_they_cannot_be) {
  CHECK_THROWS(InvalidInput, Table(with_tiers("memory:100")), "one or two below");
  CHECK_THROWS(InvalidInput, Table(with_tiers("memory,log")), "has no size for its memory tier");
  CHECK_THROWS(InvalidInput, Table(with_tiers("memory:1,disk")), "tier 'disk'");
  CHECK_THROWS(InvalidInput, Table(with_tiers("memory:1,log", ";max_bytes=100000")), "tiers and max_bytes");
  for (const char* const list : {"memory:1,log:1,log", "memory:1,log:1,mapped", "memory:1,mapped:1,mapped"})
    CHECK_THROWS(InvalidInput, Table(with_tiers(list)), "they must be memory, mapped, and log or leveldb");
  auto config = with_tiers("memory:1,log");
  config.tier_folder = "/proc/nowhere";
  CHECK_THROWS(recmigrate::StorageFailed, Table{config}, "'/proc/nowhere'");
}

}  // namespace
