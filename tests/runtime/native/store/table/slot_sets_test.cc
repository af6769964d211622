// Several optimizers of one table, each with slots of its own.
#include "store/updates/slot_sets.h"

#include <algorithm>
#include <array>

#include "check.h"
#include "fixtures.h"
#include "store/errors.h"
#include "tier_fixtures.h"

namespace {
namespace slot_sets {

using fixtures::OptimizerKind;
using fixtures::Snapshot;
using fixtures::Table;
using fixtures::Update;
using recmigrate::InvalidInput;
using recmigrate::kind_of_set;

Update update_of(OptimizerKind kind, std::int64_t set, float l2 = 0) {
  Update u = fixtures::update(kind);
  if (kind == OptimizerKind::adam) u.hyper = {0.1F, 0.9F, 0.999F, 1e-8F};
  if (kind == OptimizerKind::momentum) u.hyper = {0.1F, 0.9F, 0.0F};
  if (kind == OptimizerKind::ftrl) u.hyper = {0.1F, 0.01F, 0.01F, 0.0F, -0.5F, 0.0F};
  if (kind == OptimizerKind::ftrl) u.starts = {0.25F, 0.0F};
  u.set = set;
  u.term = {l2 != 0, l2, 0};
  return u;
}

// Every row as a variable's: it takes each step at once, with slots by optimizer.
struct Dense {
  explicit Dense(std::size_t count, std::size_t width) : rows(count), dim(width), slots(4) {}

  void apply(const std::vector<std::int64_t>& keys, const std::vector<float>& grads, const Update& update) {
    auto& own = slots[static_cast<std::size_t>(update.set)];
    const std::size_t some = recmigrate::slot_count(update.kind);
    for (std::size_t key = 0; key < rows.size(); ++key) {
      std::vector<float> sum(dim);
      bool any = recmigrate::moves_all(update);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (keys[i] != static_cast<std::int64_t>(key)) continue;
        any = true;
        for (std::size_t c = 0; c < dim; ++c) sum[c] += grads[i * dim + c];
      }
      if (!any) continue;
      own.resize(rows.size());
      if (own[key].empty()) {
        for (std::size_t s = 0; s < some; ++s) own[key].insert(own[key].end(), dim, update.starts[s]);
      }
      for (std::size_t c = 0; c < dim; ++c) sum[c] += update.term.l2 * rows[key][c];
      std::vector<float> row = rows[key];
      row.insert(row.end(), own[key].begin(), own[key].end());
      float* const one[] = {row.data()};
      recmigrate::apply_update(update, one, sum.data(), nullptr, 1, dim);
      rows[key].assign(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(dim));
      own[key].assign(row.begin() + static_cast<std::ptrdiff_t>(dim), row.end());
    }
  }

  std::vector<std::vector<float>> rows;
  std::size_t dim;
  std::vector<std::vector<std::vector<float>>> slots;
};

constexpr std::int64_t kSetKeys = 30;

// The last five keys are never looked up.
std::vector<std::int64_t> batch_of(std::size_t step) {
  std::vector<std::int64_t> keys;
  for (std::size_t i = 0; i < 7; ++i) {
    keys.push_back(static_cast<std::int64_t>((step * 7 + i * i) % (step % 20 == 0 ? 25U : 9U)));
  }
  return keys;
}

// Whether the table has the bits of a variable that both optimizers train, after `until` steps by `first` alone.
void check_as_dense(recmigrate::TableConfig config, const std::array<Update, 2>& updates, std::size_t until) {
  Table table(config);
  const auto dim = static_cast<std::size_t>(config.dim);
  Dense dense(kSetKeys, dim);
  for (std::int64_t key = 0; key < kSetKeys; ++key) {
    dense.rows[static_cast<std::size_t>(key)].resize(dim);
    table.initial_row(key, dense.rows[static_cast<std::size_t>(key)].data());
  }
  std::vector<float> out(dim);
  for (std::size_t step = 0; step < 120; ++step) {
    const std::vector<std::int64_t> keys = batch_of(step);
    const std::vector<float> grads = fixtures::gradients(keys.size() * dim, static_cast<unsigned>(step));
    const Update& update = updates[step < until ? 0 : step % 2];
    table.apply(keys.data(), keys.size(), grads.data(), update);
    dense.apply(keys, grads, update);
    if (step % 40 != 30) continue;
    const Snapshot saved = fixtures::snapshot(table);
    Table restored(config);
    fixtures::import_rows(restored, saved);
    for (std::int64_t key = 0; key < kSetKeys; ++key) {
      const std::vector<float>& row = dense.rows[static_cast<std::size_t>(key)];
      table.lookup(&key, 1, out.data());
      CHECK(out == row);
      restored.lookup(&key, 1, out.data());
      CHECK(out == row);
    }
    CHECK(recmigrate::TableMeta::from_vector(saved.meta.to_vector().data(), saved.meta.to_vector().size(), "t").kind ==
          saved.meta.kind);
    fixtures::import_rows(table, saved);
  }
}

TEST(slot_sets_train_a_row_as_the_optimizers_of_a_variable_do) {
  const OptimizerKind kinds[] = {OptimizerKind::sgd, OptimizerKind::adagrad, OptimizerKind::momentum,
                                 OptimizerKind::adam, OptimizerKind::ftrl};
  for (const OptimizerKind first : kinds) {
    for (const OptimizerKind second : kinds) {
      for (const float l2 : {0.0F, 0.01F}) {
        for (const std::size_t until : {0U, 50U}) {
          // The closed form of Adam alone, before the second one, has other bits.
          if (until != 0 && l2 == 0 && first == OptimizerKind::adam) continue;
          check_as_dense(fixtures::config(5), {update_of(first, 0, l2), update_of(second, 1, l2)}, until);
        }
      }
    }
  }
}

TEST(slot_sets_of_wide_rows_are_trained_by_pieces) {
  check_as_dense(fixtures::config(150),
                 {update_of(OptimizerKind::adam, 1, 0.01F), update_of(OptimizerKind::adagrad, 0)}, 3);
}

TEST(slot_sets_stay_with_rows_under_a_limit) {
  recmigrate::TableConfig config = fixtures::config(5);
  config.max_bytes = 1 << 22;
  check_as_dense(config, {update_of(OptimizerKind::adam, 0), update_of(OptimizerKind::adam, 1)}, 0);
}

TEST(slot_sets_go_to_lower_tiers_with_their_rows) {
  Table plain(fixtures::config(4));
  Table tiered(tier_fixtures::with_tiers("memory:20000,log"));
  std::vector<float> one(4);
  std::vector<float> other(4);
  for (std::size_t step = 0; step < 60; ++step) {
    std::vector<std::int64_t> keys = fixtures::skewed_keys(200, static_cast<unsigned>(step));
    for (std::int64_t& key : keys) key %= 1000;
    const std::vector<float> grads = fixtures::gradients(keys.size() * 4, static_cast<unsigned>(step));
    const Update update = step % 3 == 2 ? update_of(OptimizerKind::adagrad, 1) : update_of(OptimizerKind::adam, 0);
    for (Table* const table : {&plain, &tiered}) {
      if (step > 10) table->apply(keys.data(), keys.size(), grads.data(), update);
      if (step <= 10) table->apply(keys.data(), keys.size(), grads.data(), update_of(OptimizerKind::adam, 0, 0.01F));
    }
  }
  tiered.drain();  // rows go down beside the steps, perhaps later
  CHECK(tiered.tier_status()[1].use.rows > 0);
  for (std::int64_t key = -10; key < 1000; ++key) {
    plain.lookup(&key, 1, one.data());
    tiered.lookup(&key, 1, other.data());
    CHECK(one == other);
  }
}

TEST(a_second_optimizer_leaves_the_slots_of_the_first_and_begins_its_own) {
  Table table(fixtures::config(1));
  const std::int64_t key = 3;
  const float grad = 2.0F;
  table.apply(&key, 1, &grad, update_of(OptimizerKind::adagrad, 0));
  table.apply(&key, 1, &grad, update_of(OptimizerKind::ftrl, 1));
  table.apply(&key, 1, &grad, update_of(OptimizerKind::adagrad, 2));
  const Snapshot now = fixtures::snapshot(table);
  CHECK(now.slots.size() == 4 && now.slots[0] == 4.5F && now.slots[1] == 4.25F && now.slots[3] == 4.5F);
  CHECK(std::string(recmigrate::optimizer_name(now.meta.kind)) == "adagrad+ftrl+adagrad");
  CHECK((now.meta.starts == recmigrate::SlotStarts{0.5F, 0.25F, 0.0F, 0.5F}));
  const std::int64_t other = 4;  // a new row begins with the slots of all
  table.upsert(&other, 1, &grad);
  CHECK(fixtures::sorted(fixtures::snapshot(table), 1).slots[5] == 0.25F);
}

// As the initializer of a slot variable, run by itself, does.
TEST(a_slot_starts_again_in_all_rows_and_nothing_else_changes) {
  for (const std::int64_t started : {0, 1}) {
    Table table(fixtures::config(2));
    Dense dense(kSetKeys, 2);
    for (std::int64_t key = 0; key < kSetKeys; ++key) {
      dense.rows[static_cast<std::size_t>(key)].resize(2);
      table.initial_row(key, dense.rows[static_cast<std::size_t>(key)].data());
    }
    for (std::int64_t key = 0; key < kSetKeys; ++key) {
      table.upsert(&key, 1, dense.rows[static_cast<std::size_t>(key)].data());
    }
    table.start_slot(0, 0, 7.0F);  // before the first update it has none
    for (std::size_t step = 0; step < 60; ++step) {
      const std::vector<std::int64_t> keys = batch_of(step);
      const std::vector<float> grads = fixtures::gradients(keys.size() * 2, static_cast<unsigned>(step));
      // The log of both is exact, and Adam moves every row at every step, those that were not looked up as well.
      const Update update =
          step % 2 == 1 ? update_of(OptimizerKind::momentum, 1) : update_of(OptimizerKind::adam, 0, 0.01F);
      table.apply(keys.data(), keys.size(), grads.data(), update);
      dense.apply(keys, grads, update);
      if (step != 31) continue;
      table.start_slot(started, 0, 0.5F);
      table.start_slot(2, 0, 9.0F);
      table.start_slot(1, 1, 9.0F);  // there are no such slots
      auto& rows = dense.slots[static_cast<std::size_t>(started)];
      rows.resize(dense.rows.size());
      for (std::vector<float>& slots : rows) {
        slots.resize(std::max<std::size_t>(slots.size(), 2));
        std::fill_n(slots.begin(), 2, 0.5F);
      }
    }
    std::vector<float> out(2);
    for (std::int64_t key = 0; key < kSetKeys; ++key) {
      table.lookup(&key, 1, out.data());
      CHECK(out == dense.rows[static_cast<std::size_t>(key)]);
    }
  }
}

TEST(a_slot_starts_again_below_memory) {
  Table table(tier_fixtures::with_tiers("memory:20000,log"));
  std::vector<std::int64_t> keys(1000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(i);
  const std::vector<float> grads(keys.size() * 4, 2.0F);
  table.apply(keys.data(), keys.size(), grads.data(), update_of(OptimizerKind::adagrad, 0));
  table.drain();
  CHECK(table.tier_status()[1].use.rows > 0);
  table.start_slot(0, 0, 0.25F);
  const Snapshot now = fixtures::snapshot(table);
  CHECK(now.slots.size() == grads.size());
  CHECK(std::all_of(now.slots.begin(), now.slots.end(), [](float one) { return one == 0.25F; }));
}

TEST(a_set_has_one_rule) {
  Table table(fixtures::config(1));
  const std::int64_t key = 3;
  const float grad = 2.0F;
  table.apply(&key, 1, &grad, update_of(OptimizerKind::adagrad, 0));
  table.apply(&key, 1, &grad, update_of(OptimizerKind::adam, 1));
  const Snapshot before = fixtures::snapshot(table);
  CHECK_THROWS(InvalidInput, table.apply(&key, 1, &grad, update_of(OptimizerKind::momentum, 1)),
               "has the slots of optimizer adagrad+adam; an update by momentum");
  CHECK(fixtures::same_rows(fixtures::snapshot(table), before));
  Table restored(fixtures::config(1));
  fixtures::import_rows(restored, before);  // after a restore, another one may begin
  restored.apply(&key, 1, &grad, update_of(OptimizerKind::momentum, 1));
  CHECK(fixtures::snapshot(restored).meta.kind == kind_of_set(OptimizerKind::momentum, 1));
}

TEST(a_row_has_room_for_some_optimizers) {
  Table table(fixtures::config(1));
  const std::int64_t key = 3;
  const float grad = 2.0F;
  for (std::int64_t set = 0; set < 4; ++set) table.apply(&key, 1, &grad, update_of(OptimizerKind::adam, set));
  const Snapshot before = fixtures::snapshot(table);
  CHECK_THROWS(InvalidInput, table.apply(&key, 1, &grad, update_of(OptimizerKind::sgd, 4)),
               "a row has at most 8 slots of 4 optimizers");
  CHECK(fixtures::same_rows(fixtures::snapshot(table), before));
  Table whole(fixtures::config(1));
  whole.apply(&key, 1, &grad, update_of(OptimizerKind::adam, 0));
  CHECK_THROWS(InvalidInput, whole.apply(&key, 1, &grad, update_of(OptimizerKind::group_ftrl, 1)),
               "without group_ftrl; train the table with fewer optimizers");
}

TEST(a_number_that_names_no_optimizers_has_no_slots) {
  const auto number = [](std::int64_t kind) { return static_cast<OptimizerKind>(kind); };
  // Unknown rule, the same set twice, a gap, group_ftrl, nine slots, five sets.
  for (const std::int64_t kind : {31L, 0x0c0cL, 0x2c000cL, 0x2a0cL, 0x482cL << 16 | 0x680cL, 0x8161412101L, -1L}) {
    CHECK(recmigrate::rule_of(number(kind)).slots == 0);
  }
  CHECK(recmigrate::rule_of(number(0x2c0c)).slots == 4);
  CHECK(recmigrate::extends(number(0x2c0c), number(0x0c)) && !recmigrate::extends(number(0x2c0c), number(0x2c)));
  CHECK(!recmigrate::extends(number(0x2c), OptimizerKind::none) && !recmigrate::extends(number(12), number(12)));
}

TEST(an_increment_with_a_further_optimizer_extends_the_rows) {
  for (const float l2 : {0.0F, 0.01F}) {
    Table table(fixtures::config(1));
    const std::vector<std::int64_t> keys = {1, 2};
    const std::vector<float> grads = {2.0F, 3.0F};
    table.apply(keys.data(), 2, grads.data(), update_of(OptimizerKind::adagrad, 0, l2));
    Table follower(fixtures::config(1));
    fixtures::import_rows(follower, fixtures::snapshot(table));
    table.apply(keys.data(), 2, grads.data(), update_of(OptimizerKind::adam, 1, l2));
    const Snapshot now = fixtures::snapshot(table);
    follower.merge(now.meta, now.keys.data(), now.keys.size(), now.values.data(), now.slots.data());
    CHECK(fixtures::same_rows(fixtures::snapshot(follower), now));
    CHECK(fixtures::snapshot(follower).slots == now.slots);
    float a = 0;
    float b = 0;
    const std::int64_t unseen = 9;
    table.lookup(&unseen, 1, &a);
    follower.lookup(&unseen, 1, &b);
    CHECK(a == b);
  }
}

}  // namespace slot_sets
}  // namespace
