#include "store/updates/optimizer.h"

#include <cstring>
#include <type_traits>

#include "store/errors.h"
#include "store/rows/row.h"
#include "store/rules/rules.h"
#include "store/simd.h"
#include "store/updates/slot_sets.h"

namespace recmigrate {
namespace {

const std::vector<Rule>& all_rules() {
  static const auto* const kRules = new std::vector<Rule>{
      {OptimizerKind::none, "none", 0, {}, nullptr},
      {OptimizerKind::sgd, "sgd", 0, {"learning_rate", "weight_decay"}, &rules::sgd, nullptr, true},
      {OptimizerKind::adagrad, "adagrad", 1, {"learning_rate", "epsilon"}, &rules::adagrad, &rules::adagrad_apart},
      {OptimizerKind::lazy_adam,
       "lazy_adam",
       2,
       {"learning_rate", "beta1_power", "beta2_power", "beta1", "beta2", "epsilon"},
       &rules::lazy_adam},
      {OptimizerKind::momentum,
       "momentum",
       1,
       {"learning_rate", "momentum", "use_nesterov"},
       &rules::momentum,
       nullptr,
       true},
      {OptimizerKind::adagrad_decay,
       "adagrad_decay",
       2,
       {"learning_rate", "periods", "decay_rate", "baseline"},
       &rules::adagrad_decay},
      {OptimizerKind::lazy_adamw,
       "lazy_adamw",
       2,
       {"learning_rate", "beta1_power", "beta2_power", "beta1", "beta2", "epsilon", "weight_decay"},
       &rules::lazy_adamw},
      {OptimizerKind::rmsprop, "rmsprop", 2, {"learning_rate", "decay", "momentum", "epsilon"}, &rules::rmsprop},
      {OptimizerKind::rmsprop_centered,
       "rmsprop_centered",
       3,
       {"learning_rate", "decay", "momentum", "epsilon"},
       &rules::rmsprop_centered},
      {OptimizerKind::ftrl,
       "ftrl",
       2,
       {"learning_rate", "l1", "l2", "l2_shrinkage", "learning_rate_power", "beta"},
       &rules::ftrl},
      {OptimizerKind::group_ftrl,
       "group_ftrl",
       2,
       {"learning_rate", "l1", "l2", "l2_shrinkage", "learning_rate_power", "beta"},
       &rules::group_ftrl},
      {OptimizerKind::adadelta, "adadelta", 2, {"learning_rate", "rho", "epsilon"}, &rules::adadelta},
      {OptimizerKind::adam, "adam", 2, {"step", "beta1", "beta2", "epsilon"}, &rules::adam},
      {OptimizerKind::adam_scaled,
       "adam_scaled",
       2,
       {"step", "beta1", "beta2", "epsilon", "scaled_epsilon"},
       &rules::adam_scaled},
      {OptimizerKind::keras_adam,
       "keras_adam",
       2,
       {"step", "rest1", "rest2", "epsilon"},
       &rules::keras_adam,
       &rules::keras_adam_apart},
      {OptimizerKind::keras_adamw,
       "keras_adamw",
       2,
       {"step", "rest1", "rest2", "epsilon", "weight_decay", "learning_rate"},
       &rules::keras_adamw,
       &rules::keras_adamw_apart},
      {OptimizerKind::keras_momentum,
       "keras_momentum",
       1,
       {"learning_rate", "momentum", "nesterov"},
       &rules::keras_momentum,
       nullptr,
       true},
      {OptimizerKind::adamax,
       "adamax",
       2,
       {"learning_rate", "beta1_power", "beta1", "beta2", "epsilon"},
       &rules::adamax},
      {OptimizerKind::adagrad_inside, "adagrad_inside", 1, {"learning_rate", "epsilon"}, &rules::adagrad_inside},
      {OptimizerKind::composed_1, "composed_1", 1, {}, nullptr},
      {OptimizerKind::composed_2, "composed_2", 2, {}, nullptr},
      {OptimizerKind::composed_3, "composed_3", 3, {}, nullptr},
      {OptimizerKind::composed_4, "composed_4", 4, {}, nullptr},
      {OptimizerKind::proximal_adagrad, "proximal_adagrad", 1, {"learning_rate", "l1", "l2"}, &rules::proximal_adagrad},
      {OptimizerKind::proximal_sgd, "proximal_sgd", 0, {"learning_rate", "l1", "l2"}, &rules::proximal_sgd},
      {OptimizerKind::adagrad_da, "adagrad_da", 2, {"learning_rate", "l1", "l2", "global_step"}, &rules::adagrad_da},
      {OptimizerKind::keras_momentum_rows,
       "keras_momentum_rows",
       1,
       {"learning_rate", "momentum", "nesterov"},
       &rules::keras_momentum,
       nullptr,
       true},
  };
  return *kRules;
}

constexpr std::size_t kAhead = 16;  // positions jump, so the hardware cannot predict the next row

template <std::size_t kDim>
using Fixed = std::integral_constant<std::size_t, kDim>;

// With a width known to the compiler, a row is a few vector registers; most of a batch's time is this loop.
template <bool kSquares, typename Dim>
RECMIGRATE_INLINE void sum_rows_of(Dim dim, float* __restrict sums, const std::uint32_t* numbers,
                                   const float* __restrict rows, const std::uint32_t* positions,
                                   std::size_t count) noexcept {
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) prefetch_row(rows + positions[i + kAhead] * dim, dim);
    float* __restrict sum = sums + numbers[i] * dim;
    const float* __restrict row = rows + positions[i] * dim;
    if (numbers[i] == next) {
      ++next;
      if constexpr (!kSquares) {
        std::memcpy(sum, row, dim * sizeof(float));
        continue;
      }
      for (std::size_t c = 0; c < dim; ++c) sum[c] = row[c] * row[c];
    } else {
      for (std::size_t c = 0; c < dim; ++c) sum[c] += kSquares ? row[c] * row[c] : row[c];
    }
  }
}

template <typename Dim>
RECMIGRATE_INLINE void spread_rows_of(Dim dim, float* __restrict out, const std::uint32_t* positions,
                                      const float* const* rows, const std::uint32_t* numbers,
                                      std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) __builtin_prefetch(out + positions[i + kAhead] * dim, 1);
    std::memcpy(out + positions[i] * dim, rows[numbers[i]], dim * sizeof(float));
  }
}

}  // namespace

const Rule& rule_of(OptimizerKind kind) noexcept {
  for (const Rule& rule : all_rules()) {
    if (rule.kind == kind) return rule;
  }
  if (const Rule* const joint = joint_rule(kind)) return *joint;
  return all_rules().front();
}

const Rule& rule_named(const std::string& name) {
  std::string known;
  for (const Rule& rule : all_rules()) {
    if (rule.name == name && rule.kind != OptimizerKind::none) return rule;
    if (rule.apply != nullptr) known += (known.empty() ? "" : ", ") + std::string(rule.name);
  }
  fail_invalid("unknown optimizer '" + name + "'; known are " + known);
}

// An exponent of all ones, found by integer arithmetic, which can be vectorized: values * 0 would not work with
// -ffast-math.
RECMIGRATE_VECTOR_CLONES
bool all_finite(const float* values, std::size_t count) noexcept {
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, values + i, sizeof bits);
    found |= (bits & 0x7f800000U) == 0x7f800000U ? 1U : 0U;
  }
  return found == 0;
}

RECMIGRATE_VECTOR_CLONES
void spread_rows(float* out, const std::uint32_t* positions, const float* const* rows, const std::uint32_t* numbers,
                 std::size_t count, std::size_t dim) noexcept {
  switch (dim) {
    case 4:
      return spread_rows_of(Fixed<4>{}, out, positions, rows, numbers, count);
    case 8:
      return spread_rows_of(Fixed<8>{}, out, positions, rows, numbers, count);
    case 16:
      return spread_rows_of(Fixed<16>{}, out, positions, rows, numbers, count);
    case 32:
      return spread_rows_of(Fixed<32>{}, out, positions, rows, numbers, count);
    default:
      spread_rows_of(dim, out, positions, rows, numbers, count);
  }
}

RECMIGRATE_VECTOR_CLONES
void sum_rows(float* sums, const std::uint32_t* numbers, const float* rows, const std::uint32_t* positions,
              std::size_t count, std::size_t dim) noexcept {
  switch (dim) {
    case 4:
      return sum_rows_of<false>(Fixed<4>{}, sums, numbers, rows, positions, count);
    case 8:
      return sum_rows_of<false>(Fixed<8>{}, sums, numbers, rows, positions, count);
    case 16:
      return sum_rows_of<false>(Fixed<16>{}, sums, numbers, rows, positions, count);
    case 32:
      return sum_rows_of<false>(Fixed<32>{}, sums, numbers, rows, positions, count);
    default:
      sum_rows_of<false>(dim, sums, numbers, rows, positions, count);
  }
}

RECMIGRATE_VECTOR_CLONES
void sum_squares(float* sums, const std::uint32_t* numbers, const float* rows, const std::uint32_t* positions,
                 std::size_t count, std::size_t dim) noexcept {
  sum_rows_of<true>(dim, sums, numbers, rows, positions, count);
}

}  // namespace recmigrate
