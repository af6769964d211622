// A step of a pooled lookup: what the lookup finds out about its ids serves the gradient and the update, and only while
// it holds.
#include <cstring>
#include <functional>

#include "check.h"
#include "fixtures.h"
#include "ops/row_access.h"

namespace pooled_step {
namespace {

using recmigrate::kBlock;
using recmigrate::OptimizerKind;
using recmigrate::Table;
using recmigrate::ops::DistinctKeys;
using recmigrate::ops::DistinctPart;

using Ids = std::vector<std::int64_t>;

constexpr std::size_t kColumns = 4;

std::vector<float> all_rows(const Table::View& view, std::size_t count) {
  std::vector<float> out(count * kColumns);
  std::vector<float> scratch(kBlock * kColumns);
  const float* rows[kBlock];
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t some = std::min(kBlock, count - at);
    view.read(at, some, scratch.data(), rows);
    for (std::size_t i = 0; i < some; ++i) std::memcpy(&out[(at + i) * kColumns], rows[i], kColumns * sizeof(float));
  }
  return out;
}

std::vector<float> look_up(Table& table, const Ids& ids) {
  std::vector<float> out;
  table.view(ids.data(), ids.size(), true, [&](const Table::View& view) { out = all_rows(view, ids.size()); });
  return out;
}

bool knows(Table& table, const Ids& ids) {
  auto found = table.take_batch(ids.data(), ids.size());
  if (found->epoch == Table::kNotSearched) return false;
  table.leave_batch(std::move(found));
  return true;
}

// As RecPooledGradient does it, with a gradient for each id.
void backward(Table& table, const Ids& ids, const std::vector<float>& grads, Ids& keys, std::vector<float>& sums) {
  const DistinctKeys distinct(table, ids.data(), ids.size());
  keys.resize(distinct.size());
  sums.resize(distinct.size() * kColumns);
  distinct.for_each_part([&](const DistinctPart& part) {
    std::copy_n(part.keys, part.distinct, &keys[part.begin]);
    recmigrate::sum_rows(&sums[part.begin * kColumns], part.numbers, grads.data(), part.positions, part.ids, kColumns);
  });
  auto alone = distinct.alone(keys.data());
  std::vector<float> rows(keys.size() * kColumns);
  table.lookup(keys.data(), keys.size(), rows.data());
  table.view_batch(*alone, [&](const Table::View& view) { CHECK(all_rows(view, keys.size()) == rows); });
  rows.resize(ids.size() * kColumns);
  table.lookup(ids.data(), ids.size(), rows.data());
  table.view_batch(distinct.ids(), [&](const Table::View& view) { CHECK(all_rows(view, ids.size()) == rows); });
  if (distinct.ids().epoch != Table::kNotSearched) table.leave_batch(std::move(alone));
}

void apply(Table& table, const Ids& keys, const std::vector<float>& grads, OptimizerKind kind) {
  table.apply(keys.data(), keys.size(), grads.data(), fixtures::update(kind));
}

TEST(a_pooled_step_finds_its_ids_once) {
  for (const std::size_t count : {1, 50, 3000, 20000}) {
    for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adagrad, OptimizerKind::lazy_adam}) {
      Table table(fixtures::config());
      Table reference(fixtures::config());
      for (unsigned step = 0; step < 3; ++step) {
        recmigrate::parallel::set_thread_count(1 + step);
        const Ids ids = fixtures::skewed_keys(count, step);
        const std::vector<float> grads = fixtures::gradients(count * kColumns, step);
        std::vector<float> wanted(grads.size());
        reference.lookup_or_insert(ids.data(), count, wanted.data());
        CHECK(look_up(table, ids) == wanted && knows(table, ids));
        Ids keys;
        std::vector<float> sums;
        backward(table, ids, grads, keys, sums);
        CHECK(!knows(table, ids) || ids == keys);
        CHECK(knows(table, keys));
        apply(table, keys, sums, kind);
        CHECK(!knows(table, keys));
        apply(reference, ids, grads, kind);
      }
      CHECK(fixtures::same_rows(fixtures::sorted(fixtures::snapshot(table), kColumns),
                                fixtures::sorted(fixtures::snapshot(reference), kColumns)));
    }
  }
}

// The same step with and without what was found, however the table changes before the gradient or before the update.
TEST(a_pooled_step_is_right_when_the_table_changes_in_between) {
  const Ids some = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<float> ones(some.size() * kColumns, 1.0F);
  const std::function<void(Table&)> changes[] = {
      [](Table&) {},
      [&](Table& table) { table.remove(some.data(), some.size()); },
      [](Table& table) { table.reset(); },
      [](Table& table) { fixtures::import_rows(table, fixtures::snapshot(table)); },
      [&](Table& table) { table.upsert(some.data(), some.size(), ones.data()); },
      [&](Table& table) { apply(table, some, ones, OptimizerKind::adagrad); },  // slots come: all rows move
      [](Table& table) {
        const Ids others = fixtures::skewed_keys(5000, 9);
        look_up(table, others);  // all shards grow
      },
      [](Table& table) { table.evict_light(1.0F); },
  };
  const Ids ids = fixtures::skewed_keys(4000, 4);
  const std::vector<float> grads = fixtures::gradients(ids.size() * kColumns, 4);
  for (const auto& change : changes) {
    for (const bool early : {true, false}) {
      const auto run = [&](bool forget) {
        Table table(fixtures::config());
        look_up(table, ids);
        if (early) change(table);
        if (forget) static_cast<void>(table.take_batch(ids.data(), ids.size()));
        Ids keys;
        std::vector<float> sums;
        backward(table, ids, grads, keys, sums);
        CHECK(knows(table, keys) == !forget || early);
        if (!early) change(table);
        if (forget) static_cast<void>(table.take_batch(keys.data(), keys.size()));
        apply(table, keys, sums, OptimizerKind::adagrad);
        return fixtures::sorted(fixtures::snapshot(table), kColumns);
      };
      const auto reused = run(false);
      const auto anew = run(true);
      CHECK(fixtures::same_rows(reused, anew) && reused.slots == anew.slots);
    }
  }
}

// A plain look-up of few ids leaves them undivided, in another order.
TEST(a_pooled_gradient_has_its_keys_in_one_order_whatever_was_looked_up_before) {
  const Ids ids = fixtures::skewed_keys(300, 5);
  const std::vector<float> grads = fixtures::gradients(ids.size() * kColumns, 5);
  std::vector<float> rows(grads.size());
  const auto keys_after = [&](const std::function<void(Table&)>& look) {
    Table table(fixtures::config());
    look(table);
    Ids keys;
    std::vector<float> sums;
    backward(table, ids, grads, keys, sums);
    return keys;
  };
  const Ids wanted = keys_after([](Table&) {});
  CHECK(keys_after([&](Table& table) { look_up(table, ids); }) == wanted);
  CHECK(keys_after([&](Table& table) { table.lookup_or_insert(ids.data(), ids.size(), rows.data()); }) == wanted);
}

}  // namespace
}  // namespace pooled_step
