// Tables whose values have two bytes: rules work in float32, and each update rounds its rows once.
#include <cmath>

#include "check.h"
#include "fixtures.h"
#include "store/errors.h"
#include "store/parallel.h"
#include "tier_fixtures.h"

namespace narrow_tables {
namespace {

using fixtures::OptimizerKind;
using fixtures::Snapshot;
using fixtures::Table;
using fixtures::Update;
using recmigrate::ValueType;

constexpr ValueType kTypes[] = {ValueType::bfloat16, ValueType::float16};
constexpr OptimizerKind kRules[] = {OptimizerKind::sgd,       OptimizerKind::adagrad, OptimizerKind::momentum,
                                    OptimizerKind::lazy_adam, OptimizerKind::ftrl,    OptimizerKind::group_ftrl};

recmigrate::TableConfig config(ValueType values, std::int64_t dim = 5) {
  recmigrate::TableConfig result = fixtures::config(dim);
  result.values = values;
  return result;
}

Update update(OptimizerKind kind) {
  Update result = fixtures::update(kind);
  if (kind == OptimizerKind::ftrl || kind == OptimizerKind::group_ftrl) {
    result.hyper = {0.1F, 0.001F, 0.001F, 0.0F, -0.5F, 0.0F};
    result.starts = {0.1F, 0.0F};
  }
  if (kind == OptimizerKind::momentum) result.hyper = {0.1F, 0.9F, 0.0F};
  return result;
}

std::vector<float> rounded(ValueType type, std::vector<float> values) {
  std::vector<float> stored(values.size());
  recmigrate::store_nearest(type, stored.data(), values.data(), values.size());
  recmigrate::widen_values(type, stored.data(), values.data(), values.size());
  return values;
}

void train(Table& table, OptimizerKind kind, unsigned begin, unsigned end, std::size_t ids = 3000) {
  std::vector<float> out(ids * table.dim());
  for (unsigned step = begin; step < end; ++step) {
    const std::vector<std::int64_t> keys = fixtures::skewed_keys(ids, step);
    const std::vector<float> grads = fixtures::gradients(out.size(), step);
    table.lookup_or_insert(keys.data(), keys.size() / 2, out.data());
    table.apply(keys.data(), keys.size(), grads.data(), update(kind));
  }
}

Snapshot sorted(const Table& table) { return fixtures::sorted(fixtures::snapshot(table), table.dim()); }

TEST(new_rows_are_initial_rows_rounded_whether_they_are_inserted_or_not) {
  for (const ValueType type : kTypes) {
    Table table(config(type));
    Table wide(fixtures::config(5));
    const std::vector<std::int64_t> keys = {3, -9, 3, 1LL << 40};
    std::vector<float> before(20);
    std::vector<float> after(20);
    std::vector<float> expected(20);
    table.lookup(keys.data(), 4, before.data());
    table.lookup_or_insert(keys.data(), 4, after.data());
    wide.lookup(keys.data(), 4, expected.data());
    CHECK(before == rounded(type, expected) && after == before && before != expected);
    table.lookup_in_place(keys.data(), 4, before.data());
    CHECK(after == before);
  }
}

TEST(narrow_rows_take_half_the_memory) {
  std::size_t bytes[3] = {};
  for (const ValueType type : {ValueType::float32, ValueType::bfloat16, ValueType::float16}) {
    Table table(config(type, 64));
    std::vector<std::int64_t> keys(20000);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(i);
    std::vector<float> out(keys.size() * 64);
    table.lookup_or_insert(keys.data(), keys.size(), out.data());
    bytes[static_cast<std::size_t>(type)] = table.bytes();
  }
  CHECK(bytes[0] - bytes[1] == 20000 * 128 && bytes[1] == bytes[2]);
}

// One row, stepped beside the table by the rule itself and rounded as the number of the update says.
TEST(each_update_is_the_rule_in_float32_and_one_rounding) {
  for (const ValueType type : kTypes) {
    for (const OptimizerKind kind : kRules) {
      const std::size_t width = 5 * (1 + recmigrate::slot_count(kind));
      const Update step = update(kind);
      Table table(config(type));
      std::vector<float> row(width);
      table.initial_row(42, row.data());
      for (std::size_t i = 5; i < width; ++i) row[i] = step.starts[i / 5 - 1];
      for (std::uint32_t t = 0; t < 50; ++t) {
        const std::int64_t key = 42;
        const std::vector<float> grads = fixtures::gradients(5, t);
        float* const rows[] = {row.data()};
        recmigrate::apply_update(step, rows, grads.data(), nullptr, 1, 5);
        float stored[3] = {};
        recmigrate::store_stochastic(type, stored, row.data(), 5, recmigrate::Rounding(7, t).of(key));
        recmigrate::widen_values(type, stored, row.data(), 5);
        table.apply(&key, 1, grads.data(), step);
        std::vector<float> out(5);
        table.lookup(&key, 1, out.data());
        CHECK(out == std::vector<float>(row.begin(), row.begin() + 5));
      }
      const Snapshot saved = fixtures::snapshot(table);
      CHECK(saved.slots == std::vector<float>(row.begin() + 5, row.end()));
    }
  }
}

TEST(narrow_rows_have_the_same_bits_for_any_thread_count) {
  for (const OptimizerKind kind : kRules) {
    recmigrate::parallel::set_thread_count(1);
    Table one(config(ValueType::bfloat16));
    train(one, kind, 0, 4, 12000);
    for (const std::size_t threads : {3, 4}) {
      recmigrate::parallel::set_thread_count(threads);
      Table many(config(ValueType::bfloat16));
      train(many, kind, 0, 4, 12000);
      CHECK(fixtures::same_rows(fixtures::snapshot(one), fixtures::snapshot(many)));
      CHECK(fixtures::snapshot(one).slots == fixtures::snapshot(many).slots);
    }
  }
}

TEST(narrow_golden_bits) {
  check::Digest digest;
  for (const ValueType type : kTypes) {
    Table table(config(type));
    train(table, OptimizerKind::adagrad, 0, 3);
    const Snapshot rows = sorted(table);
    digest = digest.add(rows.keys).add(rows.values).add(rows.slots);
  }
  CHECK_GOLDEN(digest.value, 2038033768529155117ULL);
}

TEST(a_restored_narrow_table_trains_on_with_the_same_bits) {
  for (const ValueType type : kTypes) {
    Table through(config(type));
    train(through, OptimizerKind::adagrad, 0, 6);
    Table first(config(type));
    train(first, OptimizerKind::adagrad, 0, 3);
    Snapshot saved = fixtures::snapshot(first);
    const std::vector<std::int64_t> meta = saved.meta.to_vector();
    saved.meta = recmigrate::TableMeta::from_vector(meta.data(), meta.size(), "table 'user'");
    CHECK(meta[0] == 5 && saved.meta.updates == 3 && saved.meta.values == type);
    Table second(config(type));
    fixtures::import_rows(second, saved);
    train(second, OptimizerKind::adagrad, 3, 6);
    CHECK(fixtures::same_rows(sorted(second), sorted(through)));
    CHECK(sorted(second).slots == sorted(through).slots);
  }
}

TEST(rows_of_one_type_are_restored_as_any) {
  Table wide(fixtures::config(5));
  train(wide, OptimizerKind::adagrad, 0, 3);
  const Snapshot floats = sorted(wide);
  CHECK(floats.meta.to_vector()[0] == 2);
  for (const ValueType type : kTypes) {
    Table table(config(type));
    fixtures::import_rows(table, floats);
    const Snapshot halves = sorted(table);
    CHECK(halves.values == rounded(type, floats.values) && halves.slots == floats.slots);
    Table back(fixtures::config(5));
    fixtures::import_rows(back, halves);
    CHECK(sorted(back).values == halves.values);
    table.reset();
    table.merge(floats.meta, floats.keys.data(), floats.keys.size(), floats.values.data(), floats.slots.data());
    CHECK(sorted(table).values == halves.values && sorted(table).slots == floats.slots);
    table.upsert(floats.keys.data(), 1, std::vector<float>(5, 0.1F).data());
    CHECK(sorted(table).values[0] == rounded(type, {0.1F})[0] && sorted(table).slots == floats.slots);
  }
}

// 0.0001 is a fortieth of the least step from 1 down; rounded to the nearest, the row would stay where it is.
TEST(small_updates_move_rows_in_the_mean) {
  Table table(config(ValueType::bfloat16, 64));
  const std::int64_t key = 5;
  table.upsert(&key, 1, std::vector<float>(64, 1.0F).data());
  const std::vector<float> grads(64, 0.001F);
  for (int step = 0; step < 1000; ++step) table.apply(&key, 1, grads.data(), update(OptimizerKind::sgd));
  std::vector<float> out(64);
  table.lookup(&key, 1, out.data());
  double mean = 0;
  for (const float value : out) mean += double{value} / 64;
  CHECK(std::fabs(mean - 0.9) < 0.01);
}

TEST(steps_of_all_rows_are_taken_in_float32) {
  for (const bool term : {false, true}) {
    Update step;
    step.kind = term ? OptimizerKind::sgd : OptimizerKind::adam;
    step.hyper = term ? decltype(step.hyper){0.1F, 0.0F} : decltype(step.hyper){0.01F, 0.9F, 0.999F, 1e-8F};
    if (term) step.term = {true, 0.001F, 0.0F};
    Table narrow(config(ValueType::float16, 70));
    Table wide(fixtures::config(70));
    std::vector<float> grads(2 * 70);
    for (int t = 0; t < 300; ++t) {
      const std::vector<std::int64_t> keys = {t % 50, t % 7};
      for (std::size_t i = 0; i < grads.size(); ++i) grads[i] = std::sin(static_cast<float>(i) + static_cast<float>(t));
      for (Table* const table : {&narrow, &wide}) table->apply(keys.data(), 2, grads.data(), step);
    }
    const Snapshot a = sorted(narrow);
    const Snapshot b = sorted(wide);
    std::vector<float> read(a.values.size());
    narrow.lookup(a.keys.data(), a.keys.size(), read.data());
    CHECK(a.keys == b.keys && read == a.values);
    for (std::size_t i = 0; i < a.values.size(); ++i) CHECK(std::fabs(a.values[i] - b.values[i]) < 0.02F);
    const recmigrate::RowNorms norms = narrow.norms(0, 1);
    double expected = 0;
    for (const float value : a.values) expected += 0.5 * double{value} * double{value};
    CHECK(std::fabs(norms.half_squares - expected) < 1e-3 * expected);
  }
}

TEST(narrow_rows_in_tiers_have_the_bits_of_memory_alone) {
  for (const ValueType type : kTypes) {
    recmigrate::TableConfig below = tier_fixtures::with_tiers("memory:4000,log");
    below.values = type;
    Table plain(config(type, tier_fixtures::kTierDim));
    Table tiered(below);
    tier_fixtures::compare_tiers(plain, tiered, OptimizerKind::adagrad, 11, 300);
    tiered.drain();
    CHECK(tiered.tier_status()[1].use.rows > 100 && sorted(tiered).values == sorted(plain).values);
  }
}

TEST(light_rows_are_evicted_by_their_stored_values) {
  Table table(config(ValueType::float16));
  const std::vector<std::int64_t> keys = {1, 2};
  std::vector<float> values(10, 1.0F);
  std::fill_n(values.begin(), 5, 0.01F);
  table.upsert(keys.data(), 2, values.data());
  CHECK(table.evict_light(0.1F) == 1 && fixtures::sorted_keys(table) == std::vector<std::int64_t>{2});
}

TEST(what_narrow_rows_cannot_have_is_refused) {
  recmigrate::TableConfig expanded = config(ValueType::bfloat16);
  expanded.expansion = true;
  CHECK_THROWS(recmigrate::InvalidInput, Table{expanded}, "stores values in two bytes and has dynamic expansion");
  recmigrate::TableConfig placed = config(ValueType::float16);
  placed.device_rows = 10;
  CHECK_THROWS(recmigrate::InvalidInput, Table{placed}, "stores values in two bytes and has rows on a device");
  recmigrate::TableConfig unknown = config(ValueType::float32);
  CHECK_THROWS(recmigrate::InvalidInput, unknown.parse_options("values=int8"), "float32, bfloat16 or float16");
}

}  // namespace
}  // namespace narrow_tables
