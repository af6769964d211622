// Small tables, whose rows are gathered in one shard: they hold what a table that was spread from the start holds,
// before, while and after their rows are spread.
#include <numeric>
#include <thread>
#include <vector>

#include "check.h"
#include "fixtures.h"
#include "store/parallel.h"

namespace gathered {
namespace {

using fixtures::insert;
using fixtures::same_tables;
using fixtures::Snapshot;
using fixtures::train;
using recmigrate::kGathered;
using recmigrate::OptimizerKind;
using recmigrate::Table;
using recmigrate::TableConfig;

constexpr std::size_t kDim = 4;

// A table that is told to expect many rows is spread from the start.
TableConfig spread(TableConfig config) {
  config.reserve = 100000;
  return config;
}

std::vector<std::int64_t> range(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> keys(static_cast<std::size_t>(end - begin));
  std::iota(keys.begin(), keys.end(), begin);
  return keys;
}

TEST(gathered_rows_are_those_of_a_spread_table_while_they_become_many) {
  for (const OptimizerKind kind : {OptimizerKind::adagrad, OptimizerKind::adam, OptimizerKind::lazy_adam}) {
    for (const auto values : {recmigrate::ValueType::float32, recmigrate::ValueType::bfloat16}) {
      TableConfig config = fixtures::config(kDim);
      config.values = values;
      config.padding_keys = {3, 5};
      Table own(config);
      Table other(spread(config));
      const auto both = [&](const auto& body) {
        body(own);
        body(other);
      };
      for (unsigned step = 0; step < 24; ++step) {
        const std::vector<std::int64_t> keys = fixtures::skewed_keys(800, step);
        CHECK(insert(own, keys) == insert(other, keys));
        both([&](Table& table) { train(table, keys, kind, step); });
        if (step % 5 == 0) {
          const std::vector<std::int64_t> gone = fixtures::skewed_keys(100, step / 2);
          both([&](Table& table) { (void)table.remove(gone.data(), gone.size()); });
        }
        if (step % 6 == 1) CHECK(same_tables(own, other));
      }
      CHECK(own.size() > kGathered && same_tables(own, other));
    }
  }
}

TEST(gathered_rows_keep_what_a_lookup_found_when_they_are_spread) {
  Table own(fixtures::config(kDim));
  Table other(spread(fixtures::config(kDim)));
  const std::vector<std::int64_t> keys = range(0, 200);
  for (Table* const table : {&own, &other}) {
    train(*table, keys, OptimizerKind::adagrad, 1);
    (void)insert(*table, keys);  // kept for the update
    (void)insert(*table, range(1000, 1000 + kGathered));
    (void)insert(*table, {7});  // rows are many by now, so that this call spreads them
    train(*table, keys, OptimizerKind::adagrad, 2);
  }
  CHECK(same_tables(own, other));
}

TEST(gathered_rows_are_removed_restored_and_merged_in_large_batches) {
  Table own(fixtures::config(kDim));
  Table other(spread(fixtures::config(kDim)));
  const std::vector<std::int64_t> some = range(0, 1500);
  const std::vector<std::int64_t> many = range(1000, 6000);
  for (Table* const table : {&own, &other}) {
    train(*table, some, OptimizerKind::adagrad, 1);
    CHECK(table->remove(many.data(), many.size()) == 500);
    CHECK(table->remove_if([](std::int64_t key, const float*) { return key % 3 == 0; }) == 334);
  }
  CHECK(same_tables(own, other));
  for (const std::size_t count : {kGathered, kGathered + 1, std::size_t{5000}}) {
    Table source(fixtures::config(kDim));
    train(source, range(0, static_cast<std::int64_t>(count)), OptimizerKind::adagrad, 4);
    for (Table* const table : {&own, &other}) {
      table->reset();
      CHECK(table->size() == 0);
      fixtures::import_rows(*table, fixtures::snapshot(source));
      CHECK(same_tables(*table, source));
    }
    const Snapshot rows = fixtures::snapshot(source);
    own.reset();
    own.merge(rows.meta, rows.keys.data(), rows.keys.size(), rows.values.data(), rows.slots.data());
    CHECK(same_tables(own, source));
  }
}

TEST(gathered_rows_are_counted_once_a_lookup_counts) {
  Table own(fixtures::config(kDim));
  Table other(spread(fixtures::config(kDim)));
  recmigrate::Admission rules;
  rules.threshold = 2;
  std::vector<std::vector<float>> found;
  for (Table* const table : {&own, &other}) {
    (void)insert(*table, range(0, 50));
    for (int pass = 0; pass < 2; ++pass) {
      const std::vector<std::int64_t> keys = range(25, 125);
      const std::unique_ptr<bool[]> admitted(new bool[keys.size()]);
      found.emplace_back(keys.size() * kDim);
      table->lookup_and_admit(keys.data(), keys.size(), rules, found.back().data(), admitted.get());
      CHECK(admitted[0] && admitted[99] == (pass == 1));
    }
    CHECK(table->waiting() == 0);
  }
  CHECK(found[0] == found[2] && found[1] == found[3] && own.size() == 125 && same_tables(own, other));
}

TEST(gathered_rows_have_the_same_order_for_any_number_of_threads) {
  std::vector<std::vector<std::int64_t>> orders;
  const std::size_t before = recmigrate::parallel::thread_count();
  for (const std::size_t threads : {std::size_t{1}, std::size_t{4}}) {
    recmigrate::parallel::set_thread_count(threads);
    Table table(fixtures::config(kDim));
    for (unsigned step = 0; step < 8; ++step) (void)insert(table, fixtures::skewed_keys(step == 3 ? 5000 : 500, step));
    orders.push_back(fixtures::snapshot(table).keys);
  }
  recmigrate::parallel::set_thread_count(before);
  CHECK(orders[0] == orders[1]);
}

TEST(gathered_rows_are_spread_beside_threads_that_use_them) {
  for (int round = 0; round < 3; ++round) {
    Table table(fixtures::config(kDim));
    const std::vector<std::int64_t> hot = range(0, 64);
    train(table, hot, OptimizerKind::adagrad, 1);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 2; ++i) {
      threads.emplace_back([&table, i] {
        for (std::int64_t at = 0; at < 40; ++at) {
          const std::int64_t first = 1000 + 100 * (2 * at + i);
          (void)insert(table, range(first, first + 100));
        }
      });
    }
    threads.emplace_back([&] {
      for (unsigned step = 0; step < 40; ++step) {
        (void)insert(table, hot);
        train(table, hot, OptimizerKind::adagrad, step);
      }
    });
    threads.emplace_back([&] {
      for (int step = 0; step < 10; ++step) {
        const Snapshot now = fixtures::snapshot(table);
        CHECK(now.keys.size() >= hot.size() && now.values.size() == now.keys.size() * kDim);
      }
    });
    for (std::thread& thread : threads) thread.join();
    CHECK(table.size() == 64 + 8000);
    std::vector<float> initial(kDim);
    table.initial_row(1234, initial.data());
    CHECK(insert(table, {1234}) == initial);
  }
}

}  // namespace
}  // namespace gathered
