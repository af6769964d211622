// The update rules against the formulas written out, one number at a time, for widths around every vector length.
#include "store/optimizer.h"

#include <cmath>
#include <random>

#include "check.h"

namespace {

using recmigrate::OptimizerKind;
using recmigrate::Update;

void reference(const Update& u, float* row, const float* g, std::size_t dim) {
  for (std::size_t i = 0; i < dim; ++i) {
    float& w = row[i];
    float& first = row[dim + i];
    if (u.kind == OptimizerKind::sgd) {
      w -= u.learning_rate * g[i];
    } else if (u.kind == OptimizerKind::adagrad) {
      first += g[i] * g[i];
      w -= u.learning_rate * g[i] / (std::sqrt(first) + u.epsilon);
    } else {
      float& second = row[2 * dim + i];
      first = u.beta1 * first + (1.0F - u.beta1) * g[i];
      second = u.beta2 * second + (1.0F - u.beta2) * (g[i] * g[i]);
      const float step = u.learning_rate * std::sqrt(1.0F - u.beta2_power) / (1.0F - u.beta1_power);
      w -= step * first / (std::sqrt(std::fabs(second)) + u.epsilon);
    }
  }
}

Update update_of(OptimizerKind kind) {
  Update u;
  u.kind = kind;
  u.learning_rate = 0.1F;
  u.epsilon = 1e-7F;
  u.beta1 = 0.9F;
  u.beta2 = 0.999F;
  u.beta1_power = 0.81F;
  u.beta2_power = 0.998F;
  return u;
}

TEST(optimizers_equal_their_formulas_bit_by_bit) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adagrad, OptimizerKind::lazy_adam}) {
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
      recmigrate::apply_update(update_of(kind), rows.data(), grads.data(), rows.size(), dim);
      CHECK(got == wanted);
    }
  }
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
