// Counting from many threads at once: no count is lost, and eviction and snapshots may go on beside it.
#include <memory>
#include <thread>

#include "check.h"
#include "fixtures.h"

namespace {

using recmigrate::Admission;
using recmigrate::kNever;
using recmigrate::Table;

TEST(threads_count_every_occurrence) {
  Table table(fixtures::config(2));
  Admission rules;
  rules.threshold = 4 * 20 * 3;
  const std::vector<std::int64_t> keys = {1, 2, 3, 1, 2, 3, 1, 2, 3};
  const auto body = [&] {
    for (int step = 0; step < 20; ++step) {
      std::vector<float> out(keys.size() * 2);
      const std::unique_ptr<bool[]> admitted(new bool[keys.size()]);
      table.lookup_and_admit(keys.data(), keys.size(), rules, out.data(), admitted.get());
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(body);
  for (std::thread& thread : threads) thread.join();
  CHECK(table.size() == 3);  // the last occurrence was needed
}

TEST(threads_admit_beside_eviction_and_snapshots) {
  Table table(fixtures::config(2));
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2; ++i) {
    threads.emplace_back([&table, i] {
      for (unsigned step = 0; step < 10; ++step) {
        const std::vector<std::int64_t> keys = fixtures::skewed_keys(3000, 10 * i + step);
        std::vector<float> out(keys.size() * 2);
        const std::unique_ptr<bool[]> admitted(new bool[keys.size()]);
        Admission rules;
        rules.threshold = 2;
        rules.now = step;
        table.lookup_and_admit(keys.data(), keys.size(), rules, out.data(), admitted.get());
      }
    });
  }
  threads.emplace_back([&table] {
    for (int step = 0; step < 5; ++step) {
      (void)fixtures::snapshot(table);
      if (table.size() != 0) (void)table.evict_unseen(2, 12);
      (void)table.evict_light(0.01F);
    }
  });
  for (std::thread& thread : threads) thread.join();
  const std::size_t left = table.size();
  CHECK(table.evict_unseen(0, 12) == left && table.size() == 0);
}

// Look-ups that count and such that do not, updates whose steps all rows take, and evictions, in a table that is full.
TEST(threads_admit_in_a_full_table_that_takes_steps) {
  auto config = fixtures::config(4);
  config.parse_options("max_bytes=300000;when_full=evict");
  Table table(config);
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&table, t] {
      auto update = fixtures::update(recmigrate::OptimizerKind::keras_momentum);
      update.hyper = {0.1F, 0.9F};
      std::vector<std::int64_t> keys(300);
      std::vector<float> rows(keys.size() * 4);
      const std::vector<float> grads(keys.size() * 4, 0.01F);
      const std::unique_ptr<bool[]> admitted(new bool[keys.size()]);
      Admission rules;
      rules.threshold = 2;
      for (std::int64_t step = 0; step < 40; ++step) {
        for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = t * 1000000 + step * 100 + static_cast<std::int64_t>(i);
        rules.now = step;
        if (t == 0) {
          table.lookup_or_insert(keys.data(), keys.size(), rows.data());
        } else {
          table.lookup_and_admit(keys.data(), keys.size(), rules, rows.data(), admitted.get());
        }
        table.apply(keys.data(), keys.size(), grads.data(), update);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(table.evicted() > 1000 && table.bytes() < 330000);
}

}  // namespace
