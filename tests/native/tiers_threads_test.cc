// Tables with tiers used by many threads at once, with trimming, compaction and snapshots beside them.
#include <atomic>
#include <cstdlib>
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
    for (int worker = 0; worker < kWorkers; ++worker) workers.emplace_back([&, worker] { train_own_keys(tiered, worker); });
    for (std::thread& worker : workers) worker.join();
    done = true;
    beside.join();
    const fixtures::Snapshot a = fixtures::sorted(fixtures::snapshot(plain), kTierDim);
    const fixtures::Snapshot b = fixtures::sorted(fixtures::snapshot(tiered), kTierDim);
    CHECK(a.keys == b.keys && a.values == b.values && a.slots == b.slots);
  }
}

}  // namespace
