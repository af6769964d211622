// Tables whose optimizer moves every row at every step.
#include <atomic>
#include <cmath>
#include <thread>

#include "check.h"
#include "fixtures.h"
#include "store/errors.h"

namespace {

using fixtures::OptimizerKind;
using fixtures::Table;
using fixtures::Update;

Update step(OptimizerKind kind, std::size_t t, double beta = 0.9) {
  Update u;
  u.kind = kind;
  const double power = static_cast<double>(t);
  const auto size = static_cast<float>(0.1 * std::sqrt(1.0 - std::pow(0.999, power)) / (1.0 - std::pow(beta, power)));
  if (kind == OptimizerKind::keras_adamw) {
    u.hyper = {size, static_cast<float>(1.0 - beta), 0.001F, 1e-7F, 0.1F, 0.1F};
  } else {
    u.hyper = {size, static_cast<float>(beta), 0.999F, 1e-8F};
  }
  return u;
}

void train(Table& table, OptimizerKind kind, std::size_t begin, std::size_t end, double beta = 0.9) {
  for (std::size_t t = begin; t < end; ++t) {
    const std::vector<std::int64_t> keys = {0, static_cast<std::int64_t>(t % 50), 0};
    std::vector<float> grads(3 * table.dim());
    for (std::size_t i = 0; i < grads.size(); ++i) grads[i] = std::sin(static_cast<float>(t * 31 + i));
    table.apply(keys.data(), keys.size(), grads.data(), step(kind, t, beta));
  }
}

std::vector<float> read(Table& table, std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> keys;
  for (std::int64_t key = begin; key < end; ++key) keys.push_back(key);
  std::vector<float> rows(keys.size() * table.dim());
  table.lookup(keys.data(), keys.size(), rows.data());
  return rows;
}

float distance(const std::vector<float>& a, const std::vector<float>& b) {
  float worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::fabs(a[i] - b[i]));
  return worst;
}

TEST(a_snapshot_holds_rows_that_took_all_steps) {
  for (const OptimizerKind kind : {OptimizerKind::adam, OptimizerKind::adam_scaled, OptimizerKind::keras_adamw}) {
    Table table(fixtures::config());
    train(table, kind, 1, 170);
    const std::vector<float> rows = read(table, 0, 60);
    const fixtures::Snapshot saved = fixtures::sorted(fixtures::snapshot(table), 4);
    CHECK(saved.keys.size() == 50);
    CHECK(std::equal(saved.values.begin(), saved.values.end(), rows.begin()));
    CHECK(read(table, 0, 60) == rows);

    Table other(fixtures::config());
    fixtures::import_rows(other, saved);
    CHECK(distance(read(other, 0, 60), rows) < 1e-7F);
    train(table, kind, 170, 400);
    train(other, kind, 170, 400);
    CHECK(distance(read(other, 0, 60), read(table, 0, 60)) < 1e-5F);
  }
}

TEST(other_constants_let_all_rows_take_their_steps_first) {
  Table table(fixtures::config());
  Table wanted(fixtures::config());
  train(table, OptimizerKind::adam, 1, 100);
  train(wanted, OptimizerKind::adam, 1, 100);
  fixtures::import_rows(wanted, fixtures::snapshot(wanted));
  train(table, OptimizerKind::adam, 100, 200, 0.8);
  train(wanted, OptimizerKind::adam, 100, 200, 0.8);
  CHECK(distance(read(table, 0, 60), read(wanted, 0, 60)) < 1e-5F);
}

TEST(a_value_that_is_written_is_that_of_now) {
  Table table(fixtures::config());
  train(table, OptimizerKind::keras_adamw, 1, 100);
  const std::vector<std::int64_t> keys = {3, 77};
  const std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8};
  table.upsert(keys.data(), keys.size(), values.data());
  std::vector<float> rows(8);
  table.lookup(keys.data(), keys.size(), rows.data());
  CHECK(rows == values);
  train(table, OptimizerKind::keras_adamw, 100, 101);
  table.lookup(keys.data(), keys.size(), rows.data());
  CHECK(std::fabs(rows[4] - 5 * 0.99F) < 1e-5F);
}

TEST(a_removed_key_comes_back_as_one_never_seen) {
  Table table(fixtures::config());
  train(table, OptimizerKind::keras_adamw, 1, 100);
  Table fresh(fixtures::config());
  const std::int64_t key = 7;
  table.remove(&key, 1);
  std::vector<float> initial(4);
  fresh.initial_row(key, initial.data());
  for (float& value : initial) value *= static_cast<float>(std::pow(0.99, 99));
  std::vector<float> row(4);
  table.lookup(&key, 1, row.data());
  CHECK(distance(row, initial) < 1e-6F);
  const std::vector<float> unseen = row;
  table.lookup_or_insert(&key, 1, row.data());
  CHECK(row == unseen);
}

TEST(reading_and_saving_beside_updates_changes_no_bit) {
  Table quiet(fixtures::config());
  train(quiet, OptimizerKind::adam, 1, 300);
  Table busy(fixtures::config());
  train(busy, OptimizerKind::adam, 1, 2);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) {
      read(busy, 0, 60);
      fixtures::snapshot(busy);
    }
  });
  train(busy, OptimizerKind::adam, 2, 300);
  done = true;
  reader.join();
  CHECK(read(busy, 0, 60) == read(quiet, 0, 60));
}

}  // namespace
