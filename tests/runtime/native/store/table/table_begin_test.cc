// Several optimizers that train one table, one after the other or in turn.
#include <cmath>

#include "check.h"
#include "fixtures.h"
#include "store/errors.h"

namespace {

using fixtures::OptimizerKind;
using fixtures::Snapshot;
using fixtures::Table;
using fixtures::Update;
using recmigrate::InvalidInput;

Update rule(OptimizerKind kind) {
  if (kind != OptimizerKind::keras_adam && kind != OptimizerKind::keras_adamw) return fixtures::update(kind);
  Update u;
  u.kind = kind;
  u.hyper = {0.1F, 0.1F, 0.001F, 1e-7F, 0.1F, 0.1F};
  return u;
}

void step(Table& table, OptimizerKind kind) {
  const std::vector<std::int64_t> keys = {1, 2};
  const std::vector<float> grads = {2.0F, 3.0F};
  table.apply(keys.data(), keys.size(), grads.data(), rule(kind));
}

// Three steps of which the last two leave key 9 alone.
void train(Table& table, OptimizerKind kind) {
  const std::int64_t key = 9;
  const float grad = 1.0F;
  table.apply(&key, 1, &grad, rule(kind));
  step(table, kind);
  step(table, kind);
}

Snapshot rows(const Table& table) { return fixtures::sorted(fixtures::snapshot(table), 1); }

TEST(an_optimizer_that_made_no_step_begins_with_new_slots_and_the_rows_of_the_one_before) {
  for (const OptimizerKind before : {OptimizerKind::keras_adam, OptimizerKind::keras_adamw, OptimizerKind::adagrad}) {
    for (const OptimizerKind after : {OptimizerKind::keras_adam, OptimizerKind::adagrad, OptimizerKind::sgd}) {
      Table table(fixtures::config(1));
      table.begin(1, 0);
      train(table, before);
      const Snapshot then = rows(table);
      table.begin(2, 0);
      CHECK(fixtures::same_rows(rows(table), then));
      CHECK(rows(table).slots == then.slots);  // until it updates
      step(table, after);

      Table fresh(fixtures::config(1));
      fresh.upsert(then.keys.data(), then.keys.size(), then.values.data());
      step(fresh, after);
      CHECK(fixtures::same_rows(rows(table), rows(fresh)));
      CHECK(rows(table).slots == rows(fresh).slots);
      CHECK(rows(table).meta.kind == after);
      step(table, after);
      step(fresh, after);
      table.begin(2, 2);
      step(table, after);
      step(fresh, after);
      CHECK(fixtures::same_rows(rows(table), rows(fresh)));
    }
  }
}

TEST(an_optimizer_that_made_steps_goes_on_after_a_restore_only) {
  Table table(fixtures::config(1));
  table.begin(1, 0);
  train(table, OptimizerKind::adagrad);
  const Snapshot saved = rows(table);
  Table restored(fixtures::config(1));
  fixtures::import_rows(restored, saved);
  restored.begin(7, 3);
  step(restored, OptimizerKind::adagrad);
  step(table, OptimizerKind::adagrad);
  CHECK(rows(restored).slots == rows(table).slots);

  restored.begin(8, 3);  // it made its steps elsewhere
  step(restored, OptimizerKind::adagrad);
  CHECK((rows(restored).slots == std::vector<float>{4.5F, 9.5F, 0.5F}));

  fixtures::import_rows(restored, saved);
  restored.begin(8, 0);
  step(restored, OptimizerKind::adagrad);
  CHECK((rows(restored).slots == std::vector<float>{4.5F, 9.5F, 0.5F}));
}

TEST(optimizers_in_turn_share_slots_of_their_rule_and_no_others) {
  Table table(fixtures::config(1));
  table.begin(1, 0);
  step(table, OptimizerKind::adagrad);
  table.begin(2, 0);
  step(table, OptimizerKind::adagrad);
  table.begin(1, 1);
  step(table, OptimizerKind::adagrad);
  CHECK((rows(table).slots == std::vector<float>{8.5F, 18.5F}));
  table.begin(3, 0);
  step(table, OptimizerKind::sgd);
  table.begin(1, 2);
  const Snapshot before = rows(table);
  CHECK_THROWS(InvalidInput, step(table, OptimizerKind::adagrad),
               "trained by optimizers in turn, and has the slots of sgd but none of adagrad any more");
  CHECK(fixtures::same_rows(rows(table), before));
  table.begin(4, 0);
  step(table, OptimizerKind::adagrad);
  CHECK((rows(table).slots == std::vector<float>{4.5F, 9.5F}));
}

TEST(an_optimizer_that_follows_starts_anew_and_one_with_slots_does_not_return) {
  Table table(fixtures::config(1));
  step(table, OptimizerKind::adagrad);
  table.take_over(1, true);  // the first that tells goes on with the slots
  step(table, OptimizerKind::adagrad);
  CHECK((rows(table).slots == std::vector<float>{8.5F, 18.5F}));
  table.take_over(2, true);
  step(table, OptimizerKind::adagrad);
  table.take_over(2, true);
  step(table, OptimizerKind::adagrad);
  CHECK((rows(table).slots == std::vector<float>{8.5F, 18.5F}));
  const Snapshot before = rows(table);
  CHECK_THROWS(InvalidInput, table.take_over(1, true), "another one has trained it after this one");
  CHECK(fixtures::same_rows(rows(table), before));
  for (int turn = 0; turn < 2; ++turn) {
    table.take_over(-1, false);
    step(table, OptimizerKind::sgd);
    CHECK(rows(table).slots.empty());
    table.take_over(3 + turn, true);
    step(table, OptimizerKind::adagrad);
    CHECK((rows(table).slots == std::vector<float>{4.5F, 9.5F}));
  }
  fixtures::import_rows(table, before);
  table.take_over(1, true);
  step(table, OptimizerKind::adagrad);
  CHECK((rows(table).slots == std::vector<float>{12.5F, 27.5F}));
}

TEST(who_nobody_announced_goes_on_with_the_slots) {
  Table table(fixtures::config(1));
  step(table, OptimizerKind::adagrad);
  step(table, OptimizerKind::adagrad);
  CHECK((rows(table).slots == std::vector<float>{8.5F, 18.5F}));
  CHECK_THROWS(InvalidInput, step(table, OptimizerKind::sgd), "would misread them");
}

TEST(what_weight_decay_left_of_unseen_rows_outlives_the_optimizer_that_decays) {
  Table table(fixtures::config(1));
  table.begin(1, 0);
  train(table, OptimizerKind::keras_adamw);
  table.begin(2, 0);
  step(table, OptimizerKind::sgd);
  const Snapshot saved = rows(table);
  Table restored(fixtures::config(1));
  const std::vector<std::int64_t> meta = saved.meta.to_vector();
  Snapshot read = saved;
  read.meta = recmigrate::TableMeta::from_vector(meta.data(), meta.size(), "it");
  fixtures::import_rows(restored, read);
  const std::int64_t unseen = 77;
  float initial = 0;
  float now = 0;
  float later = 0;
  Table(fixtures::config(1)).initial_row(unseen, &initial);
  table.lookup(&unseen, 1, &now);
  restored.lookup(&unseen, 1, &later);
  CHECK(std::fabs(now - initial * 0.99F * 0.99F * 0.99F) < 1e-6F);
  CHECK(now == later);
}

}  // namespace
