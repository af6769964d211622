// Tables with tiers used by many threads at once, with trimming, compaction and snapshots beside them.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <thread>

#include "check.h"
#include "tier_fixtures.h"

namespace {

using namespace tier_fixtures;

constexpr int kWorkers = 3;
constexpr int kWorkerSteps = 120;

// Each thread trains keys of its own, so that the order between threads does not matter.
void train_own_keys(Table& table, int worker) {
  std::mt19937_64 random(static_cast<unsigned>(worker) + 1);
  for (int step = 0; step < kWorkerSteps; ++step) {
    TierIds keys(1 + random() % 120);
    for (std::int64_t& key : keys) key = static_cast<std::int64_t>(random() % 900) * kWorkers + worker;
    static_cast<void>(read_tiers(table, keys, true));
    const std::vector<float> grads = fixtures::gradients(keys.size() * kTierDim, static_cast<unsigned>(step));
    table.apply(keys.data(), keys.size(), grads.data(), fixtures::update(OptimizerKind::adagrad));
  }
}

TEST(tiers_trained_by_threads_give_the_same_bits) {
  for (const char* const kind : {"memory:4000,log:900000", "memory:4000,mapped:8000,log"}) {
    Table plain(fixtures::config(kTierDim));
    for (int worker = 0; worker < kWorkers; ++worker) train_own_keys(plain, worker);
    Table tiered(with_tiers(kind));
    std::atomic<bool> done{false};
    std::thread beside([&] {
      while (!done) {
        static_cast<void>(fixtures::snapshot(tiered));
        tiered.drain();
        static_cast<void>(tiered.tier_status());
      }
    });
    std::vector<std::thread> workers;
    for (int worker = 0; worker < kWorkers; ++worker)
      workers.emplace_back([&, worker] { train_own_keys(tiered, worker); });
    for (std::thread& worker : workers) worker.join();
    done = true;
    beside.join();
    const fixtures::Snapshot a = fixtures::sorted(fixtures::snapshot(plain), kTierDim);
    const fixtures::Snapshot b = fixtures::sorted(fixtures::snapshot(tiered), kTierDim);
    CHECK(a.keys == b.keys && a.values == b.values && a.slots == b.slots);
  }
}

constexpr int kSharedKeys = 3000;
constexpr int kSharedSteps = 400;

TierIds shared_keys(std::mt19937_64& random) {
  TierIds keys(600);
  for (std::int64_t& key : keys) key = static_cast<std::int64_t>(random() % kSharedKeys);
  return keys;
}

// A table whose rows have one value, of which about every other fits into memory unless `tiers` says otherwise.
std::unique_ptr<Table> filled_tiers(const TierIds& keys, float value, const char* tiers = "memory:80000,mapped") {
  auto table = std::make_unique<Table>(with_tiers(tiers));
  const std::vector<float> values(keys.size() * kTierDim, value);
  table->upsert(keys.data(), keys.size(), values.data());
  return table;
}

// Calls step(worker, random) from several threads, and lets rows go down beside them.
template <typename Step>
void run_workers(Table& table, const Step& step) {
  std::atomic<bool> done{false};
  std::thread beside([&] {
    while (!done) table.drain();
  });
  std::vector<std::thread> workers;
  for (int worker = 0; worker < kWorkers; ++worker) {
    workers.emplace_back([&, worker] {
      std::mt19937_64 random(static_cast<unsigned>(worker) + 1);
      for (int i = 0; i < kSharedSteps; ++i) step(static_cast<std::size_t>(worker), random);
    });
  }
  for (std::thread& worker : workers) worker.join();
  done = true;
  beside.join();
}

// A slow batch may note its use of a row after a later one did: the update of the later one must still know whether the
// row went down.
TEST(tiers_updates_by_threads_that_share_keys_all_arrive) {
  TierIds all(kSharedKeys);
  std::iota(all.begin(), all.end(), 0);
  const auto table = filled_tiers(all, 0.0F);
  auto update = fixtures::update(OptimizerKind::sgd);
  update.hyper[0] = 1.0F;  // whole numbers, whose sums do not depend on their order
  std::vector<std::vector<float>> sums(kWorkers, std::vector<float>(kSharedKeys, 0.0F));
  run_workers(*table, [&](std::size_t worker, std::mt19937_64& random) {
    const TierIds keys = shared_keys(random);
    static_cast<void>(read_tiers(*table, keys, true));
    const std::vector<float> grads(keys.size() * kTierDim, -1.0F);
    table->apply(keys.data(), keys.size(), grads.data(), update);
    for (const std::int64_t key : keys) ++sums[worker][static_cast<std::size_t>(key)];
  });
  std::vector<float> expected;
  for (std::size_t key = 0; key < kSharedKeys; ++key) {
    expected.insert(expected.end(), kTierDim, sums[0][key] + sums[1][key] + sums[2][key]);
  }
  CHECK(read_tiers(*table, all, false) == expected);
}

// Batches bring rows up as fast as a drain lets them go down: it must end all the same.
TEST(tiers_drains_by_threads_end_while_batches_go_on) {
  constexpr int kDrained = 20000;
  constexpr int kDrains = 3;
  constexpr int kMostBatches = 20000;
  TierIds all(kDrained);
  std::iota(all.begin(), all.end(), 0);
  const auto table = filled_tiers(all, 7.0F, "memory:4000,log");
  table->drain();
  std::atomic<bool> done{false};
  std::atomic<int> batches{0};
  std::vector<std::thread> workers;
  for (int worker = 0; worker < kWorkers; ++worker) {
    workers.emplace_back([&, worker] {
      std::mt19937_64 random(static_cast<unsigned>(worker) + 1);
      TierIds keys(50);
      while (!done && ++batches < kMostBatches) {
        for (std::int64_t& key : keys) key = static_cast<std::int64_t>(random() % kDrained);
        static_cast<void>(read_tiers(*table, keys, false));
      }
    });
  }
  for (int drain = 0; drain < kDrains; ++drain) {
    for (const int before = batches; batches < before + 20 && batches < kMostBatches;) std::this_thread::yield();
    table->drain();
  }
  done = true;
  for (std::thread& worker : workers) worker.join();
  CHECK(batches < kMostBatches);
}

// A row that another thread brings up meanwhile must be found, wherever it is looked for first.
TEST(tiers_look_ups_find_rows_that_other_threads_bring_up) {
  TierIds all(kSharedKeys);
  std::iota(all.begin(), all.end(), 0);
  const auto table = filled_tiers(all, 7.0F);
  std::atomic<bool> lost{false};
  run_workers(*table, [&](std::size_t, std::mt19937_64& random) {
    for (const float value : read_tiers(*table, shared_keys(random), false)) {
      if (value != 7.0F) lost = true;
    }
  });
  CHECK(!lost);
}

}  // namespace
