// Snapshot, import, upsert and reset.
#include <map>

#include "check.h"
#include "fixtures.h"
#include "store/errors.h"
#include "store/parallel.h"

namespace {

using fixtures::Snapshot;
using recmigrate::InvalidInput;
using recmigrate::OptimizerKind;
using recmigrate::Table;
using recmigrate::TableMeta;

void train(Table& table, OptimizerKind kind, unsigned seed) {
  const std::vector<std::int64_t> keys = fixtures::skewed_keys(6000, seed);
  const std::vector<float> grads = fixtures::gradients(keys.size() * table.dim(), seed);
  table.apply(keys.data(), keys.size(), grads.data(), fixtures::update(kind));
}

TEST(a_snapshot_restores_the_table_and_its_training) {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adagrad, OptimizerKind::lazy_adam}) {
    Table table(fixtures::config());
    train(table, kind, 1);
    auto other = fixtures::config();
    other.seed = 99;
    Table copy(other);
    train(copy, OptimizerKind::sgd, 5);
    fixtures::import_rows(copy, fixtures::snapshot(table));
    train(table, kind, 2);
    train(copy, kind, 2);
    // More rows may be dense in a table that got all of them at once.
    const Snapshot wanted = fixtures::sorted(fixtures::snapshot(table), table.dim());
    const Snapshot got = fixtures::sorted(fixtures::snapshot(copy), table.dim());
    CHECK(fixtures::same_rows(got, wanted) && got.slots == wanted.slots);
    CHECK(got.meta.to_vector() == wanted.meta.to_vector() && got.meta.seed == 7);
  }
}

TEST(an_empty_table_survives_the_round_trip) {
  Table table(fixtures::config());
  const Snapshot empty = fixtures::snapshot(table);
  CHECK((empty.meta.to_vector() == std::vector<std::int64_t>{2, 7, 4, 0, 0}));
  train(table, OptimizerKind::adagrad, 1);
  fixtures::import_rows(table, empty);
  CHECK(table.size() == 0);
  train(table, OptimizerKind::sgd, 1);
}

TEST(import_refuses_what_does_not_fit_and_changes_nothing) {
  Table table(fixtures::config());
  train(table, OptimizerKind::adagrad, 1);
  const Snapshot before = fixtures::snapshot(table);
  Snapshot wrong = before;
  wrong.keys[5] = wrong.keys[2];
  CHECK_THROWS(InvalidInput, fixtures::import_rows(table, wrong), "key " + std::to_string(wrong.keys[2]) + " twice");
  wrong = before;
  wrong.meta.dim = 5;
  CHECK_THROWS(InvalidInput, fixtures::import_rows(table, wrong), "are 5 wide");
  CHECK(fixtures::same_rows(fixtures::snapshot(table), before));
}

TEST(meta_data_is_checked_entry_by_entry) {
  const auto parse = [](std::vector<std::int64_t> meta) {
    return TableMeta::from_vector(meta.data(), meta.size(), "table 'user'");
  };
  CHECK(parse({1, 7, 4, 2, 3}).kind == OptimizerKind::lazy_adam);
  CHECK_THROWS(InvalidInput, parse({}), "0 entries");
  CHECK(parse({2, 7, 4, 2, 3, 0, 0}).kind == OptimizerKind::lazy_adam);
  const recmigrate::SlotStarts starts = parse({2, 7, 4, 2, 9, 0x3f000000, 0x3e800000}).starts;  // ftrl
  CHECK(starts[0] == 0.5F && starts[1] == 0.25F);
  CHECK_THROWS(InvalidInput, parse({7, 7, 4, 0, 0, 0}), "format 7");
  CHECK_THROWS(InvalidInput, parse({6, 7, 4, 0, 0, 5, 0}), "does not say how ids were divided");
  CHECK_THROWS(InvalidInput, parse({6, 7, 4, 0, 0, 0, 0, 0}), "divides ids by base_buckets=0");
  CHECK_THROWS(InvalidInput, parse({6, 7, 4, 0, 0, 5, 0, 0, 3, 0}), "how values were stored");
  constexpr std::int64_t kAll = 0x3ff0000000000000;                            // nothing has decayed
  CHECK(parse({4, 7, 4, 0, 1, kAll, 6, 1, 3, 0, 0, 0, 0}).steps.size() == 6);  // sgd: one run up to step 3
  CHECK_THROWS(InvalidInput, parse({4, 7, 4, 0, 1, kAll}), "lacks the list of past steps");
  CHECK_THROWS(InvalidInput, parse({4, 7, 4, 0, 1, kAll, 7, 1, 3, 0, 0, 0, 0}), "lacks the list of past steps");
  CHECK_THROWS(InvalidInput, parse({4, 7, 4, 0, 1, kAll, 6, 2, 3, 0, 0, 0, 0}), "wrong length");
  CHECK(parse({5, 7, 4, 0, 1, 1, 9, kAll, 0}).updates == 9);  // sgd, bfloat16, no log of steps
  CHECK(parse({5, 7, 4, 0, 1, 2, 9, kAll, 6, 1, 3, 0, 0, 0, 0}).steps.size() == 6);
  CHECK_THROWS(InvalidInput, parse({5, 7, 4, 0, 1}), "does not say how values were stored");
  CHECK_THROWS(InvalidInput, parse({5, 7, 4, 0, 1, 3, 9, kAll, 0}), "does not say how values were stored");
  CHECK_THROWS(InvalidInput, parse({5, 7, 4, 0, 1, 1, -1, kAll, 0}), "does not say how values were stored");
  CHECK_THROWS(InvalidInput, parse({5, 7, 4, 0, 1, 1, 9, kAll}), "lacks the list of past steps");
  CHECK_THROWS(InvalidInput, parse({1, 7, 4, 0, 31, 0}), "optimizer number 31");
  CHECK_THROWS(InvalidInput, parse({1, 7, 4, 0, -1, 0}), "optimizer number -1");
  CHECK_THROWS(InvalidInput, parse({1, 7, 4, 2, 2, 0}), "2 slots per row");
  CHECK_THROWS(InvalidInput, parse({1, 7, 4, 1, 2}), "adagrad start with");
  CHECK_THROWS(InvalidInput, parse({2, 7, 4, 2, 3, 0}), "lazy_adam start with");
  CHECK_THROWS(InvalidInput, parse({2, 7, 4, 1, 2, 0x7fc00000}), "start with a NaN");
}

TEST(upsert_overwrites_values_and_keeps_slots) {
  Table table(fixtures::config(1));
  const std::vector<std::int64_t> trained = {1};
  const std::vector<float> grads = {2.0F};
  table.apply(trained.data(), 1, grads.data(), fixtures::update(OptimizerKind::adagrad));
  const std::vector<std::int64_t> keys = {9, 1, 9};
  const std::vector<float> values = {5.0F, 6.0F, 7.0F};
  table.upsert(keys.data(), keys.size(), values.data());
  const Snapshot got = fixtures::snapshot(table);
  CHECK(got.keys.size() == 2);
  const std::size_t one = got.keys[0] == 1 ? 0 : 1;
  CHECK(got.keys[one] == 1 && got.values[one] == 6.0F && got.slots[one] == 4.5F);
  CHECK(got.keys[1 - one] == 9 && got.values[1 - one] == 7.0F && got.slots[1 - one] == 0.5F);
}

TEST(upsert_of_a_large_batch_keeps_the_last_of_equal_keys) {
  recmigrate::parallel::set_thread_count(3);
  const std::vector<std::int64_t> keys = fixtures::skewed_keys(50000, 3);
  std::vector<float> values(keys.size());
  std::map<std::int64_t, float> wanted;
  for (std::size_t i = 0; i < keys.size(); ++i) wanted[keys[i]] = values[i] = static_cast<float>(i);
  Table table(fixtures::config(1));
  table.upsert(keys.data(), keys.size(), values.data());
  const Snapshot got = fixtures::snapshot(table);
  CHECK(got.keys.size() == wanted.size());
  for (std::size_t i = 0; i < got.keys.size(); ++i) CHECK(got.values[i] == wanted.at(got.keys[i]));
}

TEST(reset_gives_a_new_table) {
  Table table(fixtures::config());
  train(table, OptimizerKind::adagrad, 1);
  table.reset();
  CHECK(table.size() == 0);
  train(table, OptimizerKind::lazy_adam, 1);
  Table fresh(fixtures::config());
  train(fresh, OptimizerKind::lazy_adam, 1);
  CHECK(fixtures::same_rows(fixtures::snapshot(table), fixtures::snapshot(fresh)));
}

TEST(merge_of_rows_without_slots_keeps_those_that_are_there) {
  const std::vector<std::int64_t> keys = {1, 9};
  const std::vector<float> values = {6.0F, 7.0F};
  const TableMeta untrained = fixtures::snapshot(Table(fixtures::config(1))).meta;
  for (const bool restored : {false, true}) {
    Table table(fixtures::config(1));
    const std::vector<std::int64_t> trained = {1, 2};
    const std::vector<float> grads = {2.0F, 2.0F};
    table.apply(trained.data(), 2, grads.data(), fixtures::update(OptimizerKind::adagrad));
    if (restored) fixtures::import_rows(table, fixtures::snapshot(table));
    table.merge(untrained, keys.data(), 2, values.data(), nullptr);
    const Snapshot merged = fixtures::sorted(fixtures::snapshot(table), 1);
    CHECK((merged.keys == std::vector<std::int64_t>{1, 2, 9}));
    CHECK(merged.values[0] == 6.0F && merged.values[2] == 7.0F);
    CHECK((merged.slots == std::vector<float>{4.5F, 4.5F, 0.5F}));
  }
}

TEST(merge_into_rows_without_slots_is_a_restore) {
  const TableMeta trained = [] {
    Table table(fixtures::config(1));
    train(table, OptimizerKind::adagrad, 1);
    return fixtures::snapshot(table).meta;
  }();
  const std::vector<std::int64_t> keys = {1};
  const std::vector<float> one = {1.0F};
  for (const bool restored : {false, true}) {
    Table table(fixtures::config(1));
    if (restored) fixtures::import_rows(table, fixtures::snapshot(table));
    table.merge(trained, keys.data(), 1, one.data(), one.data());
    table.apply(keys.data(), 1, one.data(), fixtures::update(OptimizerKind::lazy_adam));  // slots begin again
    CHECK(fixtures::snapshot(table).meta.kind == OptimizerKind::lazy_adam);
    CHECK_THROWS(InvalidInput, table.merge(trained, keys.data(), 1, one.data(), one.data()),
                 "rows with those of adagrad");
  }
}

TEST(merge_writes_rows_with_their_slots_and_leaves_the_others) {
  Table table(fixtures::config(1));
  const std::vector<std::int64_t> trained = {1, 2};
  const std::vector<float> grads = {2.0F, 2.0F};
  table.apply(trained.data(), 2, grads.data(), fixtures::update(OptimizerKind::adagrad));
  TableMeta meta = fixtures::snapshot(table).meta;
  meta.starts = {};
  const std::vector<std::int64_t> keys = {9, 1, 9};
  const std::vector<float> values = {5.0F, 6.0F, 7.0F};
  const std::vector<float> slots = {0.1F, 0.2F, 0.3F};
  table.merge(meta, keys.data(), 3, values.data(), slots.data());
  const Snapshot merged = fixtures::sorted(fixtures::snapshot(table), 1);
  CHECK((merged.keys == std::vector<std::int64_t>{1, 2, 9}));
  CHECK(merged.values[0] == 6.0F && merged.values[2] == 7.0F);
  CHECK((merged.slots == std::vector<float>{0.2F, 4.5F, 0.3F}));
  CHECK(merged.meta.starts[0] == 0.5F);
  meta.kind = OptimizerKind::lazy_adam;
  CHECK_THROWS(InvalidInput, table.merge(meta, keys.data(), 0, nullptr, nullptr), "slots of optimizer adagrad");
  meta.dim = 2;
  CHECK_THROWS(InvalidInput, table.merge(meta, keys.data(), 0, nullptr, nullptr), "are 2 wide");
}

TEST(an_imported_table_may_be_trained_by_another_rule_once) {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adagrad, OptimizerKind::lazy_adam}) {
    Table table(fixtures::config());
    train(table, kind, 1);
    Table copy(fixtures::config());
    fixtures::import_rows(copy, fixtures::snapshot(table));
    const OptimizerKind next = kind == OptimizerKind::lazy_adam ? OptimizerKind::adagrad : OptimizerKind::lazy_adam;
    train(copy, next, 2);
    // What it would be, had the rows come without slots.
    Table fresh(fixtures::config());
    const Snapshot rows = fixtures::snapshot(table);
    fresh.upsert(rows.keys.data(), rows.keys.size(), rows.values.data());
    train(fresh, next, 2);
    const Snapshot trained = fixtures::sorted(fixtures::snapshot(copy), 4);
    const Snapshot wanted = fixtures::sorted(fixtures::snapshot(fresh), 4);
    CHECK(fixtures::same_rows(trained, wanted) && trained.slots == wanted.slots);
    const OptimizerKind third = next == OptimizerKind::adagrad ? OptimizerKind::lazy_adam : OptimizerKind::adagrad;
    CHECK_THROWS(InvalidInput, train(copy, third, 3), "has the slots of optimizer");
  }
}

}  // namespace
