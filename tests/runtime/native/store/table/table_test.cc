// The table: what is inserted and what is not, updates against a map of rows, refusals.
#include <cmath>
#include <map>
#include <set>

#include "check.h"
#include "fixtures.h"
#include "store/errors.h"

namespace {

using recmigrate::InvalidInput;
using recmigrate::OptimizerKind;
using recmigrate::Table;

std::vector<float> read(Table& table, const std::vector<std::int64_t>& keys) {
  std::vector<float> out(keys.size() * table.dim(), NAN);
  table.lookup(keys.data(), keys.size(), out.data());
  return out;
}

std::vector<float> insert(Table& table, const std::vector<std::int64_t>& keys) {
  std::vector<float> out(keys.size() * table.dim(), NAN);
  table.lookup_or_insert(keys.data(), keys.size(), out.data());
  return out;
}

TEST(lookup_reads_initial_rows_and_inserts_nothing) {
  Table table(fixtures::config());
  const std::vector<float> seen = read(table, {5, -1, 5});
  CHECK(table.size() == 0);
  CHECK(insert(table, {5, -1, 5}) == seen);
  CHECK(table.size() == 2);
  CHECK(read(table, {}).empty() && insert(table, {}).empty() && table.size() == 2);
}

TEST(rows_do_not_depend_on_the_order_of_insertion) {
  Table one(fixtures::config());
  Table two(fixtures::config());
  insert(one, {1, 2, 3});
  insert(two, {3});
  insert(two, {2, 1});
  CHECK(read(one, {1, 2, 3}) == read(two, {1, 2, 3}));
  CHECK((fixtures::sorted_keys(two) == std::vector<std::int64_t>{1, 2, 3}));
}

TEST(large_batches_insert_every_key_once) {
  Table table(fixtures::config(1));
  const std::vector<std::int64_t> keys = fixtures::skewed_keys(20000, 1);
  const std::vector<float> initial = read(table, keys);
  CHECK(insert(table, keys) == initial && insert(table, keys) == initial && read(table, keys) == initial);
  const std::set<std::int64_t> wanted(keys.begin(), keys.end());
  CHECK(fixtures::sorted_keys(table) == std::vector<std::int64_t>(wanted.begin(), wanted.end()));
}

TEST(a_gradient_that_is_no_number_stops_the_update_or_leaves_its_own_row) {
  Table table(fixtures::config(1));
  const std::vector<std::int64_t> keys = {1, 2, 3};
  const std::vector<float> before = insert(table, keys);
  const std::vector<float> grads = {1.0F, NAN, 2.0F};
  auto update = fixtures::update(OptimizerKind::sgd);
  CHECK_THROWS(InvalidInput, table.apply(keys.data(), 3, grads.data(), update), "the gradient for key 2");
  CHECK(read(table, keys) == before);
  update.nonfinite = recmigrate::Nonfinite::skip;
  table.apply(keys.data(), 3, grads.data(), update);
  const std::vector<float> after = read(table, keys);
  CHECK(after[0] != before[0] && after[1] == before[1] && after[2] != before[2]);
}

TEST(adagrad_updates_each_key_once_with_its_sum) {
  Table table(fixtures::config(2));
  const std::vector<std::int64_t> keys = fixtures::skewed_keys(9000, 2);
  const std::vector<float> grads = fixtures::gradients(keys.size() * 2, 3);
  std::vector<float> wanted = read(table, keys);
  std::map<std::int64_t, std::vector<float>> sums;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto [at, fresh] = sums.try_emplace(keys[i], std::vector<float>{grads[2 * i], grads[2 * i + 1]});
    for (std::size_t c = 0; c < 2 && !fresh; ++c) at->second[c] += grads[2 * i + c];
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const float g = sums[keys[i / 2]][i % 2];
    wanted[i] -= 0.1F * g / (std::sqrt(0.5F + g * g) + 1e-8F);
  }
  table.apply(keys.data(), keys.size(), grads.data(), fixtures::update(OptimizerKind::adagrad));
  CHECK(table.size() == sums.size());
  CHECK(read(table, keys) == wanted);
}

TEST(few_keys_are_trained_as_many_are) {
  constexpr std::size_t kEach = recmigrate::kFew;
  constexpr std::size_t kBatches = 3;
  auto config = fixtures::config(3);
  config.padding_keys = {1, 700};
  Table many(config);
  Table few(config);
  std::vector<std::int64_t> keys(kBatches * kEach);  // no key is in two of the small batches; most come twice in one
  for (std::size_t i = 0; i < keys.size(); ++i)
    keys[i] = static_cast<std::int64_t>(i / kEach * kEach + i % kEach * 7 % 1100);
  const std::vector<float> grads = fixtures::gradients(keys.size() * 3, 5);
  const std::vector<float> initial = insert(many, keys);
  const auto update = fixtures::update(OptimizerKind::adagrad);
  for (unsigned step = 0; step < 2; ++step) {
    if (step != 0) insert(many, keys);
    many.apply(keys.data(), keys.size(), grads.data(), update);
    for (std::size_t at = 0; at < keys.size(); at += kEach) {
      std::vector<float> rows(kEach * 3);
      few.lookup_or_insert(&keys[at], kEach, rows.data());
      CHECK(step != 0 || std::equal(rows.begin(), rows.end(), &initial[at * 3]));
      few.apply(&keys[at], kEach, &grads[at * 3], update);
    }
  }
  const auto wanted = fixtures::sorted(fixtures::snapshot(many), 3);
  const auto got = fixtures::sorted(fixtures::snapshot(few), 3);
  CHECK(got.keys == wanted.keys && got.values == wanted.values && got.slots == wanted.slots);
  CHECK(got.keys.size() > kBatches * 1000);
}

TEST(rows_inserted_after_an_update_start_with_the_initial_accumulator) {
  Table table(fixtures::config(1));
  const std::vector<float> grads = {1.0F};
  const std::vector<std::int64_t> keys = {3};
  table.apply(keys.data(), 1, grads.data(), fixtures::update(OptimizerKind::adagrad));
  insert(table, {4});
  const auto got = fixtures::snapshot(table);
  CHECK(got.keys.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(got.slots[i] == (got.keys[i] == 3 ? 1.5F : 0.5F));
}

TEST(another_optimizer_is_refused_by_both_names) {
  Table table(fixtures::config(1));
  const std::vector<float> grads = {1.0F};
  const std::vector<std::int64_t> keys = {3};
  table.apply(keys.data(), 1, grads.data(), fixtures::update(OptimizerKind::sgd));
  table.apply(keys.data(), 1, grads.data(), fixtures::update(OptimizerKind::lazy_adam));
  const auto before = fixtures::snapshot(table);
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adagrad}) {
    const auto apply = [&] { table.apply(keys.data(), 1, grads.data(), fixtures::update(kind)); };
    CHECK_THROWS(InvalidInput, apply(), "lazy_adam");
    CHECK_THROWS(InvalidInput, apply(), recmigrate::optimizer_name(kind));
  }
  CHECK(fixtures::same_rows(fixtures::snapshot(table), before));
}

TEST(table_refuses_wrong_configurations) {
  auto wrong = fixtures::config();
  wrong.dim = 0;
  CHECK_THROWS(InvalidInput, Table{wrong}, "'user' has dim 0");
  wrong.dim = -4;
  CHECK_THROWS(InvalidInput, Table{wrong}, "'user' has dim -4");
  wrong = fixtures::config();
  wrong.reserve = -1;
  CHECK_THROWS(InvalidInput, Table{wrong}, "'user' reserves -1");
  wrong.reserve = std::int64_t{1} << 60;
  CHECK(Table(wrong).size() == 0);
}

TEST(update_of_many_tables_is_that_of_each_or_none) {
  const std::vector<std::int64_t> keys = fixtures::skewed_keys(3000, 4);
  std::vector<float> grads = fixtures::gradients(keys.size() * 2, 5);
  const recmigrate::Update update = fixtures::update(recmigrate::OptimizerKind::adagrad);
  Table single(fixtures::config(2));
  Table one(fixtures::config(2));
  Table two(fixtures::config(2));
  Table never(fixtures::config(2));
  insert(one, keys);
  std::vector<float> spoilt = grads;
  spoilt[2 * 1234] = NAN;
  const auto of = [&](Table& table, const std::vector<float>& of_table) {
    return Table::Gradients{&table, keys.data(), keys.size(), of_table.data()};
  };
  single.apply(keys.data(), keys.size(), grads.data(), update);
  Table::apply_together({of(two, grads), of(one, grads)}, update);
  CHECK(read(one, keys) == read(single, keys) && read(two, keys) == read(single, keys));
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS(InvalidInput, (Table::apply_together({of(two, grads), of(never, spoilt), of(one, grads)}, update)),
                 "NaN");
    CHECK(read(one, keys) == read(single, keys) && read(two, keys) == read(single, keys));
  }
  CHECK_THROWS(InvalidInput, (Table::apply_together({of(two, grads), of(one, grads), of(two, grads)}, update)),
               "twice");
  CHECK(read(two, keys) == read(single, keys));
  Table::apply_together({}, update);
}

}  // namespace
