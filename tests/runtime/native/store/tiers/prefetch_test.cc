// Rows read ahead of their batches: copies that change no result, keep to memory's size, and are given up in time.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "check.h"
#include "store/tiers/staged.h"
#include "tier_fixtures.h"

namespace {

using namespace tier_fixtures;
using recmigrate::Staged;

template <typename Condition>
bool comes_true(const Condition& condition) {
  for (int i = 0; i < 5000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

void adagrad_step(Table& table, const TierIds& keys, unsigned seed) {
  const std::vector<float> grads = fixtures::gradients(keys.size() * kTierDim, seed);
  table.apply(keys.data(), keys.size(), grads.data(), fixtures::update(OptimizerKind::adagrad));
}

TierIds tier_range(std::int64_t begin, std::int64_t end) {
  TierIds keys;
  for (std::int64_t key = begin; key < end; ++key) keys.push_back(key);
  return keys;
}

std::size_t rows_read(Table& table) {
  std::size_t rows = 0;
  for (const auto& tier : table.tier_status()) rows += tier.use.read_rows;
  return rows;
}

std::size_t count_below(Table& table, const TierIds& keys) {
  std::vector<std::int32_t> tiers(keys.size());
  table.tiers_of(keys.data(), keys.size(), tiers.data());
  std::size_t below = 0;
  for (const std::int32_t tier : tiers) below += tier > 0 ? 1 : 0;
  return below;
}

TEST(staged_copies_are_taken_once) {
  Staged staged(2);
  const TierIds keys = {7, -3, 9};
  std::vector<float*> rows(3);
  CHECK(staged.room(2) == 2);
  staged.begin(keys.data(), 3, 1, rows.data());
  CHECK(staged.size() == 3 && staged.room(2) == 0);
  for (std::size_t i = 0; i < 3; ++i) rows[i][0] = rows[i][1] = static_cast<float>(i);
  staged.end(keys.data(), rows.data(), 2, true);
  const TierIds wanted = {-3, 8, 9};
  float out[3][2] = {};
  float* const to[] = {out[0], out[1], out[2]};
  std::vector<std::size_t> absent;
  std::vector<std::size_t> coming;
  staged.take(wanted.data(), 3, to, absent, coming);
  CHECK(out[0][1] == 1 && absent == std::vector<std::size_t>{1} && coming == std::vector<std::size_t>{2});
  std::thread reader([&] { staged.end(&keys[2], &rows[2], 1, false); });  // it could not be read
  staged.await(wanted.data(), coming, to, absent);
  reader.join();
  CHECK((absent == std::vector<std::size_t>{1, 2}));
  CHECK(staged.size() == 1);
}

TEST(staged_copies_that_were_overtaken_go) {
  Staged staged(1);
  std::vector<std::size_t> none;
  float value = 0;
  float* const to[] = {&value};
  for (std::int64_t key = 0; key < 200; ++key) {  // the first stays, the others are used at once
    float* row = nullptr;
    staged.begin(&key, 1, static_cast<std::uint64_t>(key) + 1, &row);
    staged.end(&key, &row, 1, true);
    if (key != 0) staged.take(&key, 1, to, none, none);
    if (key == 50) CHECK(staged.room(1) == 0);
  }
  CHECK(staged.room(1) == 1 && staged.unused() == 1);
}

TEST(staged_copies_that_nobody_wants_go_and_their_memory) {
  Staged staged(4);
  const TierIds keys = tier_range(0, 3000);
  std::vector<float*> rows(keys.size());
  staged.begin(keys.data(), keys.size(), 1, rows.data());
  staged.end(keys.data(), rows.data(), keys.size(), true);
  const std::size_t bytes = staged.bytes();
  for (int batch = 0; batch < 1000; ++batch) staged.passed(false);
  CHECK(staged.size() == 0 && staged.unused() == 3000);
  CHECK(2 * staged.bytes() < bytes);
}

TEST(prefetch_changes_no_result_and_inserts_nothing) {
  for (const char* const kind : {"memory:40000,log", "memory:40000,mapped:40000,log"}) {
    Table plain(fixtures::config(kTierDim));
    Table tiered(with_tiers(kind));
    const TierIds all = tier_range(0, 4000);
    for (Table* table : {&plain, &tiered}) {
      static_cast<void>(read_tiers(*table, all, true));
      adagrad_step(*table, all, 1);
    }
    tiered.drain();
    for (int step = 0; step < 40; ++step) {
      TierIds keys = tier_range(step * 90, step * 90 + 60);  // some are new in the end
      keys.push_back(4000 + step);
      const std::size_t rows = tiered.size();
      const std::size_t before = rows_read(tiered);
      tiered.prefetch(keys);
      const std::size_t below = count_below(tiered, keys);
      CHECK(below == 0 || comes_true([&] { return rows_read(tiered) > before; }));
      CHECK(tiered.size() == rows && count_below(tiered, keys) == below);
      CHECK(read_tiers(plain, keys, true) == read_tiers(tiered, keys, true));
      adagrad_step(plain, keys, static_cast<unsigned>(step));
      adagrad_step(tiered, keys, static_cast<unsigned>(step));
      if (step % 3 == 0) tiered.drain();
    }
    std::size_t found = 0;
    std::size_t ahead = 0;
    for (const auto& tier : tiered.tier_status()) {
      ahead += tier.prefetched;
      found += tier.found;
    }
    CHECK(ahead > 1000 && ahead <= found);
    const fixtures::Snapshot a = fixtures::sorted(fixtures::snapshot(plain), kTierDim);
    const fixtures::Snapshot b = fixtures::sorted(fixtures::snapshot(tiered), kTierDim);
    CHECK(a.keys == b.keys && a.values == b.values && a.slots == b.slots);
  }
}

// Each copy is of before: what comes then must make it worthless.
TEST(prefetch_forgets_rows_that_change) {
  const TierIds all = tier_range(0, 4000);
  const TierIds some = tier_range(0, 50);
  for (int change = 0; change < 5; ++change) {
    Table plain(fixtures::config(kTierDim));
    Table tiered(with_tiers("memory:40000,log", ";tier_policy=lru"));
    const TierIds others = tier_range(1000, 3000);
    for (Table* table : {&plain, &tiered}) {
      static_cast<void>(read_tiers(*table, all, true));
      adagrad_step(*table, all, 1);
      static_cast<void>(read_tiers(*table, others, true));
    }
    tiered.drain();
    CHECK(count_below(tiered, some) == some.size());
    const std::size_t before = rows_read(tiered);
    tiered.prefetch(some);
    CHECK(comes_true([&] { return rows_read(tiered) >= before + some.size(); }));
    const fixtures::Snapshot saved = fixtures::snapshot(plain);
    for (Table* table : {&plain, &tiered}) {
      if (change == 0) table->remove(some.data(), some.size());
      if (change == 1) table->reset();
      if (change == 2) fixtures::import_rows(*table, saved);
      if (change == 3) adagrad_step(*table, some, 9);
      if (change == 4) static_cast<void>(table->evict_light(1e-3F));
    }
    CHECK(read_tiers(plain, some, true) == read_tiers(tiered, some, true));
    adagrad_step(plain, some, 5);
    adagrad_step(tiered, some, 5);
    CHECK(read_tiers(plain, all, false) == read_tiers(tiered, all, false));
  }
}

// A row that is in memory when a batch is announced may go down before the batch comes.
TEST(prefetch_looks_again_for_rows_that_went_down) {
  Table tiered(with_tiers("memory:40000,log", ";tier_policy=lru"));
  const TierIds soon = tier_range(0, 50);
  static_cast<void>(read_tiers(tiered, soon, true));
  tiered.prefetch(soon);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(rows_read(tiered) == 0);
  static_cast<void>(read_tiers(tiered, tier_range(1000, 3000), true));
  tiered.drain();
  CHECK(count_below(tiered, soon) == soon.size());
  CHECK(comes_true([&] { return rows_read(tiered) == soon.size(); }));
  static_cast<void>(read_tiers(tiered, soon, true));
  CHECK(tiered.tier_status()[1].prefetched == soon.size());
  static_cast<void>(read_tiers(tiered, tier_range(3000, 6000), true));
  tiered.drain();  // once the batch has come, they are its own no longer
  CHECK(count_below(tiered, soon) == soon.size());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(rows_read(tiered) == soon.size());
}

// The batch before it, which comes and takes its copies, is no reason to forget it.
TEST(prefetch_looks_again_for_a_batch_that_is_not_the_next) {
  Table tiered(with_tiers("memory:40000,log", ";tier_policy=lru"));
  const TierIds next = tier_range(0, 50);
  const TierIds later = tier_range(50, 100);
  static_cast<void>(read_tiers(tiered, next, true));
  static_cast<void>(read_tiers(tiered, tier_range(1000, 3000), true));
  tiered.drain();
  static_cast<void>(read_tiers(tiered, later, true));
  CHECK(count_below(tiered, next) == next.size() && count_below(tiered, later) == 0);
  tiered.prefetch(next);
  tiered.prefetch(later);
  CHECK(comes_true([&] { return rows_read(tiered) == next.size(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it finds that the rows of `later` are in memory
  static_cast<void>(read_tiers(tiered, next, true));
  CHECK(tiered.tier_status()[1].prefetched == next.size());
  static_cast<void>(read_tiers(tiered, tier_range(3000, 6000), true));
  tiered.drain();
  CHECK(count_below(tiered, later) == later.size());
  CHECK(comes_true([&] { return rows_read(tiered) == next.size() + later.size(); }));
}

TEST(prefetch_keeps_to_the_size_of_memory_and_gives_up_what_nobody_uses) {
  Table tiered(with_tiers("memory:64000,log"));
  const TierIds all = tier_range(0, 20000);
  static_cast<void>(read_tiers(tiered, all, true));
  tiered.drain();
  const std::size_t capacity = tiered.tier_status()[0].capacity;
  tiered.prefetch(all);
  CHECK(comes_true([&] { return tiered.tier_status()[1].use.read_rows == capacity / 4; }));
  tiered.drain();
  CHECK(tiered.tier_status()[0].use.rows + capacity / 4 <= capacity);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(tiered.tier_status()[1].use.read_rows == capacity / 4);  // it waits for room
  const TierIds hot = {1, 2, 3};
  for (int batch = 0; batch < 600; ++batch) static_cast<void>(read_tiers(tiered, hot, false));
  CHECK(comes_true([&] { return tiered.tier_status()[0].unused > 0; }));
}

// Threads that train, threads that read ahead, trimming, snapshots and restores at once; and tables that end meanwhile.
TEST(prefetch_by_threads_gives_the_same_bits) {
  constexpr int kTrainers = 2;
  constexpr int kRounds = 60;
  const auto keys_of = [](int worker, int round) {
    std::mt19937_64 random(static_cast<unsigned>(worker * 1000 + round));
    TierIds keys;
    for (std::int64_t key = 0; keys.size() < 100; key += static_cast<std::int64_t>(1 + random() % 30)) {
      keys.push_back(key * kTrainers + worker);
    }
    return keys;
  };
  const auto train = [&](Table& table, int worker, bool ahead) {
    for (int round = 0; round < kRounds; ++round) {
      if (ahead) table.prefetch(keys_of(worker, round + 1));
      const TierIds keys = keys_of(worker, round);
      static_cast<void>(read_tiers(table, keys, true));
      adagrad_step(table, keys, static_cast<unsigned>(round));
    }
  };
  for (const char* const kind : {"memory:6000,log:900000", "memory:6000,mapped:8000,log"}) {
    Table plain(fixtures::config(kTierDim));
    for (int worker = 0; worker < kTrainers; ++worker) train(plain, worker, false);
    auto tiered = std::make_unique<Table>(with_tiers(kind));
    std::atomic<bool> done{false};
    std::thread beside([&] {
      while (!done) {
        tiered->prefetch(keys_of(0, 3));
        static_cast<void>(fixtures::snapshot(*tiered));
        tiered->drain();
        static_cast<void>(tiered->tier_status());
      }
    });
    std::vector<std::thread> workers;
    for (int worker = 0; worker < kTrainers; ++worker)
      workers.emplace_back([&, worker] { train(*tiered, worker, true); });
    for (std::thread& worker : workers) worker.join();
    done = true;
    beside.join();
    const fixtures::Snapshot a = fixtures::sorted(fixtures::snapshot(plain), kTierDim);
    const fixtures::Snapshot b = fixtures::sorted(fixtures::snapshot(*tiered), kTierDim);
    CHECK(a.keys == b.keys && a.values == b.values && a.slots == b.slots);
    for (int round = 0; round < 20; ++round) tiered->prefetch(keys_of(0, round));
    tiered.reset();  // while it reads
  }
}

}  // namespace
