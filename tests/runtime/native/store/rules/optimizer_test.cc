// The update rules against the formulas written out, one number at a time, for widths around every vector length.
#include "store/updates/optimizer.h"

#include <cmath>
#include <random>
#include <utility>

#include "check.h"
#include "store/errors.h"

namespace {

using recmigrate::OptimizerKind;
using recmigrate::Update;

void reference(const Update& u, float* row, const float* g, std::size_t dim) {
  const float lr = u.hyper[0];
  for (std::size_t i = 0; i < dim; ++i) {
    float& w = row[i];
    float& first = row[dim + i];
    float& second = row[2 * dim + i];
    if (u.kind == OptimizerKind::sgd) {
      w -= lr * (g[i] + u.hyper[1] * w);
    } else if (u.kind == OptimizerKind::adagrad) {
      first += g[i] * g[i];
      w -= lr * g[i] / (std::sqrt(first) + u.hyper[1]);
    } else if (u.kind == OptimizerKind::momentum) {
      first = u.hyper[1] * first + g[i];
      w -= lr * g[i] + lr * u.hyper[1] * first;
    } else if (u.kind == OptimizerKind::rmsprop) {
      first += (g[i] * g[i] - first) * (1.0F - u.hyper[1]);
      second = second * u.hyper[2] + lr * g[i] / std::sqrt(first + u.hyper[3]);
      w -= second;
    } else {
      first = u.hyper[3] * first + (1.0F - u.hyper[3]) * g[i];
      second = u.hyper[4] * second + (1.0F - u.hyper[4]) * (g[i] * g[i]);
      const float step = lr * std::sqrt(1.0F - u.hyper[2]) / (1.0F - u.hyper[1]);
      w -= step * first / (std::sqrt(std::fabs(second)) + u.hyper[5]);
    }
  }
}

Update update_of(OptimizerKind kind) {
  Update u;
  u.kind = kind;
  switch (kind) {
    case OptimizerKind::sgd:
      u.hyper = {0.1F, 0.01F};
      break;
    case OptimizerKind::adagrad:
      u.hyper = {0.1F, 1e-7F};
      break;
    case OptimizerKind::momentum:
      u.hyper = {0.1F, 0.9F, 1.0F};
      break;
    case OptimizerKind::rmsprop:
      u.hyper = {0.1F, 0.9F, 0.5F, 1e-7F};
      break;
    default:
      u.hyper = {0.1F, 0.81F, 0.998F, 0.9F, 0.999F, 1e-7F};
  }
  return u;
}

TEST(optimizers_equal_their_formulas_bit_by_bit) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adagrad, OptimizerKind::lazy_adam,
                                   OptimizerKind::momentum, OptimizerKind::rmsprop}) {
    for (std::size_t dim = 1; dim < 40; ++dim) {
      const std::size_t stride = dim * 3;
      std::vector<float> got(5 * stride);
      std::vector<float> grads(5 * dim);
      for (float& value : got) value = std::fabs(normal(random));
      for (float& value : grads) value = normal(random);
      std::vector<float> wanted = got;
      std::vector<float*> rows;
      for (std::size_t r = 0; r < 5; ++r) {
        rows.push_back(&got[r * stride]);
        reference(update_of(kind), &wanted[r * stride], &grads[r * dim], dim);
      }
      recmigrate::apply_update(update_of(kind), rows.data(), grads.data(), nullptr, rows.size(), dim);
      CHECK(got == wanted);
    }
  }
}

TEST(a_single_number_that_is_not_finite_is_found) {
  std::vector<float> values(77, 3e38F);
  values[3] = 1e-45F;
  CHECK(recmigrate::all_finite(values.data(), values.size()) && recmigrate::all_finite(nullptr, 0));
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
      const float good = std::exchange(values[i], bad);
      CHECK(!recmigrate::all_finite(values.data(), values.size()));
      values[i] = good;
    }
  }
}

TEST(every_rule_has_a_name_of_its_own) {
  for (std::int64_t kind = 1; kind < 32; ++kind) {
    const recmigrate::Rule& rule = recmigrate::rule_of(static_cast<OptimizerKind>(kind));
    CHECK(rule.kind == OptimizerKind::none || rule.slots <= recmigrate::kMaxSlots);
    CHECK(rule.hyper.size() <= recmigrate::kMaxHyper);
    if (rule.apply != nullptr) CHECK(&recmigrate::rule_named(rule.name) == &rule);
  }
  CHECK_THROWS(recmigrate::InvalidInput, static_cast<void>(recmigrate::rule_named("none")), "unknown optimizer 'none'");
}

TEST(sum_rows_adds_in_input_order) {
  const std::uint32_t numbers[] = {0, 1, 0, 0, 2, 1};
  const std::uint32_t positions[] = {5, 4, 3, 2, 1, 0};
  for (const std::size_t dim : {1, 4, 7, 8, 16, 32, 33}) {
    std::vector<float> rows(6 * dim);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = 1.0F / static_cast<float>(i + 1);
    std::vector<float> sums(3 * dim, NAN);
    recmigrate::sum_rows(sums.data(), numbers, rows.data(), positions, 6, dim);
    for (std::size_t c = 0; c < dim; ++c) {
      CHECK(sums[c] == (rows[5 * dim + c] + rows[3 * dim + c]) + rows[2 * dim + c]);
      CHECK(sums[dim + c] == rows[4 * dim + c] + rows[c]);
      CHECK(sums[2 * dim + c] == rows[dim + c]);
    }
  }
}

}  // namespace
