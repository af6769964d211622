// Look-ups beside updates: a row is never seen half-written, no key is lost, and every update counts.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "check.h"
#include "fixtures.h"
#include "store/parallel.h"

namespace {

using recmigrate::OptimizerKind;
using recmigrate::Table;

constexpr std::size_t kDim = 16;
constexpr std::int64_t kKeys = 5000;

// Every gradient is the same in all columns and every initial row is zero, so all columns of a row are always equal.
void expect_whole_rows(const std::vector<float>& rows, std::atomic<bool>& torn) {
  for (std::size_t i = 0; i < rows.size(); i += kDim) {
    const auto differs = [&](float value) { return value != rows[i]; };
    if (std::any_of(&rows[i], &rows[i] + kDim, differs)) torn = true;
  }
}

void expect_equal_columns(const float* row) {
  for (std::size_t c = 1; c < kDim; ++c) CHECK(row[c] == row[0]);
}

void run_reader(Table& table, unsigned seed, const std::atomic<bool>& stop, std::atomic<bool>& torn) {
  std::mt19937 random(seed);
  std::vector<std::int64_t> keys(500);
  std::vector<float> rows(keys.size() * kDim);
  while (!stop) {
    for (std::int64_t& key : keys) key = static_cast<std::int64_t>(random() % (2 * kKeys));
    if (seed % 2 == 0) {
      table.lookup(keys.data(), keys.size(), rows.data());
    } else {
      table.lookup_or_insert(keys.data(), keys.size(), rows.data());
    }
    expect_whole_rows(rows, torn);
    if (seed == 0) static_cast<void>(fixtures::snapshot(table));
  }
}

void run_writer(Table& table, int steps) {
  std::vector<std::int64_t> keys(kKeys);
  for (std::int64_t key = 0; key < kKeys; ++key) keys[static_cast<std::size_t>(key)] = key;
  const std::vector<float> grads(keys.size() * kDim, -10.0F);
  for (int step = 0; step < steps; ++step) {
    table.apply(keys.data(), keys.size(), grads.data(), fixtures::update(OptimizerKind::sgd));
  }
}

TEST(threads_see_whole_rows_and_lose_no_update) {
  recmigrate::parallel::set_thread_count(3);
  auto config = fixtures::config(kDim);
  config.initializer = "16:constant:0:0";
  Table table(config);
  std::atomic<bool> stop{false};
  std::atomic<bool> torn{false};
  std::vector<std::thread> readers;
  for (unsigned seed = 0; seed < 3; ++seed) readers.emplace_back([&, seed] { run_reader(table, seed, stop, torn); });
  std::thread writer([&] { run_writer(table, 10); });
  run_writer(table, 10);
  writer.join();
  stop = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(!torn);
  const auto rows = fixtures::snapshot(table);
  for (std::size_t i = 0; i < rows.keys.size(); ++i) {
    CHECK(rows.values[i * kDim] == (rows.keys[i] < kKeys ? 20.0F : 0.0F));
  }
}

// Every step moves every row by the same amount, so in a snapshot of one moment all rows are equal.
TEST(threads_train_beside_a_snapshot_of_one_moment) {
  recmigrate::parallel::set_thread_count(2);
  auto config = fixtures::config(kDim);
  config.initializer = "16:constant:0:0";
  Table table(config);
  run_writer(table, 1);
  const std::vector<std::int64_t> odd = {1, 3, 77};
  table.remove(odd.data(), odd.size());
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    std::vector<std::int64_t> keys;
    for (std::int64_t key = 0; key < kKeys; ++key) {
      if (std::find(odd.begin(), odd.end(), key) == odd.end()) keys.push_back(key);
    }
    const std::vector<float> grads(keys.size() * kDim, -10.0F);
    std::vector<float> out(kDim);
    for (std::int64_t fresh = kKeys; !stop; ++fresh) {
      table.apply(keys.data(), keys.size(), grads.data(), fixtures::update(OptimizerKind::sgd));
      table.lookup_or_insert(&fresh, 1,
                             out.data());  // never trained: 0 in every snapshot, in a place used before or new
    }
  });
  for (int round = 0; round < 40; ++round) {
    const auto rows = fixtures::snapshot(table);
    std::size_t trained = 0;
    float moment = 0;
    for (std::size_t i = 0; i < rows.keys.size(); ++i) {
      const float value = rows.values[i * kDim];
      expect_equal_columns(&rows.values[i * kDim]);
      if (rows.keys[i] >= kKeys) {
        CHECK(value == 0.0F);
      } else {
        CHECK(trained++ == 0 || value == moment);
        moment = value;
      }
    }
    CHECK(trained == kKeys - odd.size());
  }
  stop = true;
  writer.join();
}

TEST(threads_have_a_fair_lock_in_the_order_of_asking) {
  recmigrate::FairMutex mutex;
  for (int round = 0; round < 3; ++round) {
    std::atomic<bool> asking{false};
    std::atomic<bool> had{false};
    mutex.lock();
    std::thread other([&] {
      asking = true;
      const recmigrate::Maintenance lock(mutex);
      had = true;
    });
    while (!asking) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    mutex.unlock();
    mutex.lock();
    CHECK(had);
    mutex.unlock();
    other.join();
  }
}

// Snapshots follow each other without a pause, and two threads want other slots and counters at every step: each gets
// its turn, where they could undo each other's for ever if they let go of the table between making and using them.
TEST(threads_get_slots_and_counters_between_snapshots) {
  recmigrate::parallel::set_thread_count(2);
  Table table(fixtures::config(kDim));
  const std::vector<std::int64_t> keys = fixtures::skewed_keys(3000, 1);
  std::atomic<bool> stop{false};
  std::thread saver([&] {
    while (!stop) static_cast<void>(fixtures::snapshot(table));
  });
  const auto body = [&](unsigned t) {
    auto update = fixtures::update(OptimizerKind::adagrad);
    update.starts[0] = static_cast<float>(t);
    const std::vector<float> grads = fixtures::gradients(keys.size() * kDim, t);
    recmigrate::Admission rules;
    rules.bloom.max_elements = 100 + t;
    std::vector<float> rows(keys.size() * kDim);
    const std::unique_ptr<bool[]> admitted(new bool[keys.size()]);
    for (int step = 0; step < 15; ++step) {
      table.apply(keys.data(), keys.size(), grads.data(), update);
      table.lookup_and_admit(keys.data(), keys.size(), rules, rows.data(), admitted.get());
    }
  };
  std::thread first([&] { body(1); });
  body(2);
  first.join();
  stop = true;
  saver.join();
  CHECK(table.size() != 0);
}

TEST(threads_insert_a_key_once) {
  recmigrate::parallel::set_thread_count(2);
  constexpr std::size_t kBatch = 20000;  // enough that two threads search before either inserts
  Table table(fixtures::config(kDim));
  std::vector<std::thread> inserters;
  for (int i = 0; i < 3; ++i) {
    inserters.emplace_back([&table] {
      std::vector<float> rows(kBatch * kDim);
      for (std::int64_t round = 0; round < 5; ++round) {
        std::vector<std::int64_t> keys(kBatch);
        for (std::size_t k = 0; k < kBatch; ++k) keys[k] = round * 1000000 + static_cast<std::int64_t>(k / 2);
        table.lookup_or_insert(keys.data(), keys.size(), rows.data());
      }
    });
  }
  for (std::thread& inserter : inserters) inserter.join();
  CHECK(table.size() == 5 * kBatch / 2);
}

// Windows of ids slide through a small table: an update of rows that another thread's look-up had evicted must touch
// nothing, and the memory stays within the limit.
TEST(threads_train_in_a_full_table) {
  recmigrate::parallel::set_thread_count(2);
  constexpr std::size_t kLimit = 500000;
  auto config = fixtures::config(kDim);
  config.initializer = "16:constant:0:0";
  config.parse_options("max_bytes=" + std::to_string(kLimit) + ";when_full=evict");
  Table table(config);
  std::atomic<bool> torn{false};
  std::atomic<bool> over{false};
  const auto body = [&](std::int64_t begin) {
    std::vector<std::int64_t> keys(300);
    std::vector<float> rows(keys.size() * kDim);
    const std::vector<float> grads(keys.size() * kDim, -10.0F);
    for (std::int64_t step = 0; step < 60; ++step) {
      for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = begin + step * 100 + static_cast<std::int64_t>(i);
      table.lookup_or_insert(keys.data(), keys.size(), rows.data());
      expect_whole_rows(rows, torn);
      table.apply(keys.data(), keys.size(), grads.data(), fixtures::update(OptimizerKind::adagrad));
      if (table.bytes() > kLimit + kLimit / 50) over = true;
    }
  };
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 2; ++t) threads.emplace_back(body, t * 1000000);
  threads.emplace_back([&] {
    for (int round = 0; round < 10; ++round) {
      const auto saved = fixtures::snapshot(table);
      expect_whole_rows(saved.values, torn);
    }
  });
  for (std::thread& thread : threads) thread.join();
  CHECK(!torn && !over && table.evicted() > 1000 && table.size() > 1000);
}

TEST(threads_may_reset_and_import_beside_look_ups) {
  recmigrate::parallel::set_thread_count(2);
  Table table(fixtures::config(kDim));
  const auto empty = fixtures::snapshot(table);
  std::atomic<bool> stop{false};
  std::atomic<bool> torn{false};
  std::thread reader([&] {
    const std::vector<std::int64_t> keys = fixtures::skewed_keys(3000, 1);
    std::vector<float> wanted(keys.size() * kDim);
    Table(fixtures::config(kDim)).lookup(keys.data(), keys.size(), wanted.data());
    std::vector<float> rows(wanted.size());
    while (!stop) {
      table.lookup_or_insert(keys.data(), keys.size(), rows.data());
      if (rows != wanted) torn = true;
    }
  });
  for (int round = 0; round < 30; ++round) {
    table.reset();
    fixtures::import_rows(table, empty);
  }
  stop = true;
  reader.join();
  CHECK(!torn);
}

// Groups that name the same tables in another order, while others replace those tables' rows: nobody waits for ever.
TEST(updates_of_many_tables_wait_for_no_one_in_a_circle) {
  Table one(fixtures::config(2));
  Table two(fixtures::config(2));
  const std::vector<std::int64_t> keys = fixtures::skewed_keys(300, 1);
  const std::vector<float> grads = fixtures::gradients(keys.size() * 2, 2);
  const recmigrate::Update update = fixtures::update(recmigrate::OptimizerKind::adagrad);
  const Table::Gradients first{&one, keys.data(), keys.size(), grads.data()};
  const Table::Gradients second{&two, keys.data(), keys.size(), grads.data()};
  std::vector<std::thread> threads;
  for (const bool turned : {false, true}) {
    threads.emplace_back([&, turned] {
      for (int i = 0; i < 100; ++i) {
        Table::apply_together(turned ? std::vector{second, first} : std::vector{first, second}, update);
      }
    });
  }
  for (Table* const table : {&one, &two}) {
    threads.emplace_back([table] {
      for (int i = 0; i < 30; ++i) table->reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(one.size() <= keys.size() && two.size() <= keys.size());
}

}  // namespace
