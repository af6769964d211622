// Rows that take steps with a term over the whole table later, against rows that take each at once.
#include "store/updates/replayed.h"

#include <string>
#include <vector>

#include "check.h"
#include "fixtures.h"
#include "store/errors.h"
#include "store/table.h"

namespace {

using recmigrate::OptimizerKind;
using recmigrate::Replayed;
using recmigrate::Table;
using recmigrate::Update;

constexpr std::size_t kReplayedWide = 150;  // more columns than are replayed at once

Update update(OptimizerKind kind, int step) {
  Update u;
  u.kind = kind;
  const float rate = 0.01F * static_cast<float>(1 + step / 5 % 3);  // runs of equal steps
  const std::vector<float> more = kind == OptimizerKind::ftrl ? std::vector<float>{0.001F, 0.0F, 0.0F, -0.5F, 0.0F}
                                  : kind == OptimizerKind::rmsprop
                                      ? std::vector<float>{0.9F, 0.5F, 1e-7F}
                                      : std::vector<float>{0.9F, kind == OptimizerKind::momentum ? 0.0F : 0.99F, 1e-7F};
  u.hyper[0] = rate;
  for (std::size_t i = 0; i < more.size() && i + 1 < recmigrate::rule_of(kind).hyper.size(); ++i) {
    u.hyper[i + 1] = more[i];
  }
  for (std::size_t s = 0; s < recmigrate::slot_count(kind); ++s) {
    u.starts[s] = kind == OptimizerKind::adagrad || (kind == OptimizerKind::rmsprop && s == 0) ? 0.5F : 0.0F;
  }
  if (kind == OptimizerKind::ftrl) u.starts[0] = 0.1F;
  u.term = {true, 0.1F, step % 7 == 0 ? 0.01F : 0.0F};
  return u;
}

std::vector<float> fresh_row(const Update& u, std::size_t dim) {
  std::vector<float> row(dim);
  for (std::size_t i = 0; i < dim; ++i) row[i] = 0.05F * static_cast<float>(i % 11) - 0.2F;
  for (std::size_t s = 0; s < recmigrate::slot_count(u.kind); ++s) row.insert(row.end(), dim, u.starts[s]);
  return row;
}

constexpr OptimizerKind kKinds[] = {OptimizerKind::sgd,     OptimizerKind::momentum, OptimizerKind::adagrad,
                                    OptimizerKind::rmsprop, OptimizerKind::ftrl,     OptimizerKind::adam};

TEST(steps_that_are_taken_later_leave_the_same_bits) {
  for (const OptimizerKind kind : kKinds) {
    Replayed steps(kind);
    std::vector<float> expected = fresh_row(update(kind, 0), kReplayedWide);
    std::vector<float> halfway = expected;
    std::vector<float> later = expected;
    for (int step = 0; step < 60; ++step) {
      const Update u = update(kind, step);
      steps.reserve();
      steps.append(u);
      float* const rows[] = {expected.data()};
      std::vector<float> gradient(kReplayedWide, 0.0F);
      recmigrate::add_term(u.term, rows, gradient.data(), 1, kReplayedWide);
      recmigrate::apply_update(u, rows, gradient.data(), nullptr, 1, kReplayedWide);
      if (step == 23) steps.catch_up(halfway.data(), 0, kReplayedWide);
    }
    std::vector<float> value(kReplayedWide);
    steps.value(later.data(), 0, kReplayedWide, value.data());
    steps.catch_up(halfway.data(), 24, kReplayedWide);
    std::vector<float> together = later;
    float* const rows[] = {together.data()};
    float gradients[kReplayedWide];
    steps.catch_up_together(rows, 1, 0, kReplayedWide, gradients);
    steps.catch_up(later.data(), 0, kReplayedWide);
    CHECK(later == expected);
    CHECK(halfway == expected);
    CHECK(together == expected);
    CHECK(std::vector<float>(expected.begin(), expected.begin() + kReplayedWide) == value);
  }
}

TEST(a_saved_log_brings_new_rows_up_to_date) {
  Replayed steps(OptimizerKind::momentum);
  for (int step = 0; step < 30; ++step) {
    steps.reserve();
    steps.append(update(OptimizerKind::momentum, step));
  }
  const std::vector<std::int64_t> saved = steps.saved();
  const auto again = Replayed::restored(OptimizerKind::momentum, saved.data(), saved.size(), "meta data");
  CHECK(again->now() == 30);
  std::vector<float> one = fresh_row(update(OptimizerKind::momentum, 0), kReplayedWide);
  std::vector<float> other = one;
  steps.from_start(one.data(), {}, kReplayedWide);
  again->from_start(other.data(), {}, kReplayedWide);
  CHECK(one == other);
}

TEST(a_damaged_log_is_refused) {
  Replayed steps(OptimizerKind::sgd);
  steps.reserve();
  steps.append(update(OptimizerKind::sgd, 0));
  std::vector<std::int64_t> saved = steps.saved();
  const auto read = [&] {
    static_cast<void>(Replayed::restored(OptimizerKind::sgd, saved.data(), saved.size(), "meta data"));
  };
  read();
  saved[1] = 0;
  CHECK_THROWS(recmigrate::InvalidInput, read(), "past steps that are not in order");
  saved[1] = 1;
  saved[2] = 0x7fc00000;  // a NaN, as a rate may be where steps take it
  read();
  saved.pop_back();
  CHECK_THROWS(recmigrate::InvalidInput, read(), "wrong length");
}

TEST(a_rule_for_whole_rows_has_no_term) {
  CHECK_THROWS(recmigrate::InvalidInput, Replayed{OptimizerKind::group_ftrl}, "group_ftrl");
}

}  // namespace
