// Rows that take steps without a gradient all at once, against the same steps one after another in double precision.
#include "store/updates/deferred.h"

#include <cmath>
#include <random>

#include "check.h"
#include "store/errors.h"

namespace {

using recmigrate::Deferred;
using recmigrate::OptimizerKind;
using recmigrate::Update;

constexpr std::size_t kWidth = 5;

Update update(OptimizerKind kind, std::size_t t, double b1, double b2, float epsilon) {
  Update u;
  u.kind = kind;
  const double rate = 0.01 * (1.0 + 0.5 * std::sin(0.05 * static_cast<double>(t)));
  if (kind == OptimizerKind::keras_momentum) {
    u.hyper = {static_cast<float>(rate), static_cast<float>(b1), static_cast<float>(b2)};
    return u;
  }
  const double power = static_cast<double>(t);
  const double step = rate * std::sqrt(1.0 - std::pow(b2, power)) / (1.0 - std::pow(b1, power));
  u.hyper = {static_cast<float>(step), static_cast<float>(1.0 - b1), static_cast<float>(1.0 - b2), epsilon};
  if (kind == OptimizerKind::adam_scaled)
    u.hyper[4] = epsilon * static_cast<float>(std::sqrt(1.0 - std::pow(b2, power)));
  if (kind == OptimizerKind::adam || kind == OptimizerKind::adam_scaled) {
    u.hyper[1] = static_cast<float>(b1);
    u.hyper[2] = static_cast<float>(b2);
  }
  if (kind == OptimizerKind::keras_adamw) {
    u.hyper[4] = 0.1F;
    u.hyper[5] = static_cast<float>(rate);
  }
  return u;
}

// One step without a gradient, of an element.
void reference(const Update& u, double& w, double& m, double& v) {
  if (u.kind == OptimizerKind::keras_momentum) {
    m *= double{u.hyper[1]};
    w += u.hyper[2] != 0.0F ? u.hyper[1] * m : m;
    return;
  }
  const bool scaled = u.kind == OptimizerKind::adam_scaled;
  const bool plain = u.kind == OptimizerKind::adam || scaled;
  if (!scaled) w -= w * u.hyper[4] * u.hyper[5];
  m *= plain ? double{u.hyper[1]} : 1.0 - u.hyper[1];
  v *= plain ? double{u.hyper[2]} : 1.0 - u.hyper[2];
  w -= u.hyper[0] * m / (std::sqrt(v) + u.hyper[scaled ? 4 : 3]);
}

struct Row {
  std::vector<float> row;
  std::vector<double> wanted;
  std::vector<double> largest;
  std::uint32_t from;
};

// Relative to the largest value that an element had since, so to the movements that nearly cancel too.
double distance(const Row& at, const float* row, std::size_t begin, std::size_t end) {
  double worst = 0;
  for (std::size_t i = begin; i < end; ++i) {
    worst = std::max(worst, std::fabs(row[i] - at.wanted[i]) / at.largest[i]);
  }
  return worst;
}

// Rows of all kinds of moments that took step `from` last, at several steps of one history.
double worst_distance(OptimizerKind kind, double b1, double b2, float epsilon, std::size_t last = 1500) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  Deferred steps(update(kind, 1, b1, b2, epsilon));
  std::vector<Row> rows;
  double worst = 0;
  for (std::size_t t = 1; t <= last; ++t) {
    if (t % 100 == 2) {
      for (const float size : {1.0F, 1e-3F, 1e-7F}) {
        Row row{std::vector<float>(3 * kWidth),
                {},
                std::vector<double>(3 * kWidth, 1e-30),
                static_cast<std::uint32_t>(t - 1)};
        for (std::size_t i = 0; i < kWidth; ++i) {
          row.row[i] = 0.1F * normal(random);
          row.row[kWidth + i] = size * normal(random);
          row.row[2 * kWidth + i] = size * size * 0.3F * std::fabs(normal(random));
        }
        row.wanted.assign(row.row.begin(), row.row.end());
        rows.push_back(row);
      }
    }
    const Update u = update(kind, t, b1, b2, epsilon);
    for (Row& row : rows) {
      double* const w = row.wanted.data();
      for (std::size_t i = 0; i < kWidth; ++i) reference(u, w[i], w[kWidth + i], w[2 * kWidth + i]);
      for (std::size_t i = 0; i < 3 * kWidth; ++i) row.largest[i] = std::max(row.largest[i], std::fabs(w[i]));
    }
    steps.reserve();
    steps.append(u);
    if (t % 37 != 0) continue;
    for (Row& row : rows) {
      std::vector<float> now = row.row;
      std::vector<float> read(kWidth);
      steps.catch_up(now.data(), row.from, kWidth);
      steps.value(row.row.data(), row.from, kWidth, read.data());
      CHECK(std::equal(read.begin(), read.end(), now.begin()));
      worst = std::max(worst, distance(row, now.data(), 0, kWidth));
    }
  }
  for (Row& row : rows) {
    steps.catch_up(row.row.data(), row.from, kWidth);
    CHECK(distance(row, row.row.data(), kWidth, 3 * kWidth) < 1e-5);
  }
  return worst;
}

TEST(steps_taken_at_once_are_those_taken_one_by_one) {
  for (const float epsilon : {1e-8F, 1e-3F, 1.0F}) {
    for (const OptimizerKind kind :
         {OptimizerKind::adam, OptimizerKind::adam_scaled, OptimizerKind::keras_adam, OptimizerKind::keras_adamw}) {
      CHECK(worst_distance(kind, 0.9, 0.999, epsilon) < 2e-6);
    }
  }
  CHECK(worst_distance(OptimizerKind::keras_momentum, 0.9, 0, 0) < 2e-6);
  CHECK(worst_distance(OptimizerKind::keras_momentum, 0.9, 1, 0) < 2e-6);
  CHECK(worst_distance(OptimizerKind::keras_momentum, 1.0, 0, 0) < 2e-6);
}

TEST(betas_far_from_the_usual_are_exact_too) {
  for (const OptimizerKind kind : {OptimizerKind::adam, OptimizerKind::adam_scaled, OptimizerKind::keras_adamw}) {
    CHECK(worst_distance(kind, 0.5, 0.9, 1e-7F) < 2e-6);
    CHECK(worst_distance(kind, 0.9, 0.95, 1e-3F) < 2e-6);
    CHECK(worst_distance(kind, 0.99, 0.999, 1e-3F) < 5e-6);
    CHECK(worst_distance(kind, 0.99, 0.9, 1e-3F) < 5e-6);
    CHECK(worst_distance(kind, 0.5, 0.25, 1e-3F) <
          5e-6);  // beta1 is the root of beta2: no step is smaller than another
  }
}

// Past the first thousands of steps, in which a scaled epsilon lets rows with an epsilon near sqrt(v) go step by step.
TEST(a_scaled_epsilon_is_exact_before_and_after_it_has_grown) {
  CHECK(worst_distance(OptimizerKind::adam_scaled, 0.9, 0.99, 1e-3F, 2000) < 2e-6);
  CHECK(worst_distance(OptimizerKind::adam_scaled, 0.9, 0.999, 1e-7F, 5000) < 2e-6);
}

TEST(other_constants_do_not_fit_and_other_rates_do) {
  const Deferred steps(update(OptimizerKind::keras_adamw, 1, 0.9, 0.999, 1e-7F));
  CHECK(steps.fits(update(OptimizerKind::keras_adamw, 9, 0.9, 0.999, 1e-7F)));
  CHECK(!steps.fits(update(OptimizerKind::keras_adamw, 9, 0.9, 0.99, 1e-7F)));
  CHECK(!steps.fits(update(OptimizerKind::keras_adam, 9, 0.9, 0.999, 1e-7F)));
  Update with_term = update(OptimizerKind::keras_adamw, 9, 0.9, 0.999, 1e-7F);
  with_term.term.present = true;
  CHECK(!steps.fits(with_term));
}

TEST(a_weight_decay_of_a_whole_value_is_refused) {
  Update u = update(OptimizerKind::keras_adamw, 1, 0.9, 0.999, 1e-7F);
  const Deferred steps(u);
  steps.check(u);
  u.hyper[4] = 2.0F;
  u.hyper[5] = 0.5F;
  CHECK_THROWS(recmigrate::InvalidInput, steps.check(u), "must be below 1");
}

}  // namespace
