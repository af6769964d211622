// What the engine has to say is kept for whoever takes it, in order, and never grows without end.
#include "store/notices.h"

#include <cstddef>
#include <string>
#include <vector>

#include "check.h"
#include "fixtures.h"

namespace {

namespace notices = recmigrate::notices;
using fixtures::OptimizerKind;
using fixtures::Table;

std::vector<std::string> taken() { return notices::take(); }

TEST(notices_are_taken_once_and_the_oldest_are_dropped) {
  static_cast<void>(taken());
  CHECK(!notices::any());
  notices::post("one");
  notices::post("two");
  CHECK(notices::any());
  CHECK((taken() == std::vector<std::string>{"one", "two"}));
  CHECK(!notices::any() && taken().empty());
  for (int i = 0; i < 300; ++i) notices::post(std::to_string(i));
  const std::vector<std::string> kept = taken();
  CHECK(kept.size() == 256 && kept.front() == "44" && kept.back() == "299");
}

TEST(notices_tell_of_slots_that_start_anew_once) {
  const std::vector<std::int64_t> keys = {1, 2};
  const std::vector<float> grads = {2.0F, 3.0F};
  Table table(fixtures::config(1));
  const auto train = [&](OptimizerKind kind) { table.apply(keys.data(), 2, grads.data(), fixtures::update(kind)); };
  train(OptimizerKind::adagrad);
  const auto saved = fixtures::snapshot(table);
  static_cast<void>(taken());
  fixtures::import_rows(table, saved);
  train(OptimizerKind::adagrad);
  CHECK(taken().empty());
  fixtures::import_rows(table, saved);
  train(OptimizerKind::lazy_adam);
  train(OptimizerKind::lazy_adam);
  CHECK((taken() ==
         std::vector<std::string>{"table '" + table.name() +
                                  "' was restored with the slots of adagrad; those of lazy_adam begin again"}));
}

TEST(notices_tell_once_of_optimizers_in_turn) {
  const std::vector<std::int64_t> keys = {1, 2};
  const std::vector<float> grads = {2.0F, 3.0F};
  Table table(fixtures::config(1));
  static_cast<void>(taken());
  for (std::int64_t step = 0; step < 4; ++step) {
    table.begin(step % 2, step / 2);
    table.apply(keys.data(), 2, grads.data(), fixtures::update(OptimizerKind::adagrad));
  }
  CHECK(taken().size() == 1);
}

TEST(notices_tell_of_a_filter_with_other_settings) {
  const std::int64_t key = 1;
  float out = 0;
  bool admitted = false;
  Table table(fixtures::config(1));
  recmigrate::Admission rules;
  rules.threshold = 2;
  static_cast<void>(taken());
  rules.bloom = {1000, 0.001, 8};
  table.lookup_and_admit(&key, 1, rules, &out, &admitted);
  CHECK(taken().empty());
  rules.bloom = {2000, 0.001, 8};
  table.lookup_and_admit(&key, 1, rules, &out, &admitted);
  CHECK((taken() == std::vector<std::string>{"the Bloom filter of table '" + table.name() +
                                             "' has other settings than before and counts from 0 again"}));
}

}  // namespace
