// Optimizers that move every row at every step, at a cost for the rows of the batch only. A step without a gradient is
// known in advance, so a row stores the number of the last step that it took, and catches up on all later ones when it
// is needed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "store/updates/steps.h"

namespace recmigrate {

// Powers of a number from 0 to 1, bit-equal on any machine.
class Powers {
 public:
  explicit Powers(double base);

  // base^exponent as a float; values below 1e-30 are 0.
  [[nodiscard]] float operator()(std::uint32_t exponent) const noexcept;

 private:
  static constexpr std::size_t kTable = 256;
  std::array<double, kTable> low_;   // base^i
  std::array<double, kTable> high_;  // base^(kTable * i)
};

// The effect of steps without a gradient on the elements of a row.
struct DeferredSteps {
  float terms[4];
  float left;
  float epsilon;
  float factor1;
  float factor2;
};

// The steps that a table took, and their effect on a row without gradients. A step takes 16 bytes, 8 more with weight
// decay or a scaled epsilon. Rows are value[dim], then the rule's slots. Not synchronized: `append` excludes all other
// calls.
//
// Adam. Without gradients m and v are known: after j steps m b1^j and v b2^j. With q = 1 / sqrt(b2), r = b1 q and
// u = epsilon / (sqrt(v) + epsilon), step j takes off  a_j m / (sqrt(v) + epsilon) * r^j / (1 + u (q^j - 1)).
// q^j - 1 stays small as long as r^j is not negligible, so a few terms of the series in u (q^j - 1) are exact to a
// float, and their coefficients, the sums of a_j r^j (q^j - 1)^n, are the same for all rows that took the same last
// step. Where step j has c_j epsilon, c_j <= 1, q^j becomes c_j q^j: the same series, but for the first thousands of
// steps, in which c_j is far from 1, only for rows whose u is small.
class Deferred final : public Steps {
 public:
  // Takes the constants of the first update; `is_deferred(update.kind)`.
  explicit Deferred(const Update& update);

  [[nodiscard]] OptimizerKind kind() const noexcept override { return kind_; }
  // Whether an update has the constants of the steps so far, and no term over the table.
  [[nodiscard]] bool fits(const Update& update) const noexcept override;
  [[nodiscard]] bool full() const noexcept override;
  [[nodiscard]] std::size_t bytes() const noexcept override;

  void append(const Update& update) noexcept override;
  void reserve() override;
  // Throws InvalidInput for a weight decay of a whole row or more.
  void check(const Update& update) const override;

  void catch_up(float* row, std::uint32_t from, std::size_t dim) const noexcept override;
  [[nodiscard]] bool divisible() const noexcept override { return false; }
  void value(const float* row, std::uint32_t from, std::size_t dim, float* out) const noexcept override;
  void copy(const float* row, std::uint32_t from, std::size_t dim, float* value, float* slots) const noexcept override;
  void from_start(float* value, const SlotStarts& starts, std::size_t dim) const noexcept override;
  [[nodiscard]] double shrinkage() const noexcept override { return left_.empty() ? 1.0 : left_.back(); }
  [[nodiscard]] std::shared_ptr<const Steps> clone() const override { return std::make_shared<Deferred>(*this); }

 private:
  static constexpr std::size_t kTerms = 4;
  using Terms = std::array<double, kTerms>;

  [[nodiscard]] bool needs_sizes() const noexcept;
  [[nodiscard]] float momentum_since(std::uint32_t from) const noexcept;
  [[nodiscard]] DeferredSteps steps_since(std::uint32_t from) const noexcept;
  [[nodiscard]] bool needs_steps(const float* row, std::uint32_t from, std::size_t dim) const noexcept;
  [[nodiscard]] bool scales_epsilon() const noexcept { return kind_ == OptimizerKind::adam_scaled; }
  void take_steps(const float* row, std::uint32_t from, std::size_t dim, float* out) const noexcept;
  [[nodiscard]] double shrinkage_since(std::uint32_t from) const noexcept {
    return left_.empty() ? 1.0 : left_[now_] / left_[from];
  }

  OptimizerKind kind_;
  std::array<float, kMaxHyper> constants_;  // the hyperparameters that do not change from step to step
  Powers power1_;
  Powers power2_;

  std::vector<Terms> weights_;                    // [j]: r^j (q^j - 1)^n; as many as matter
  double remainder_ = 0;                          // of the series, relative, at u = 1
  bool series_ = true;                            // else step by step
  std::vector<Terms> recent_;                     // sums of the last steps, which still grow; a ring
  std::vector<std::array<float, kTerms>> terms_;  // [s]: the sums for rows that took step s last
  std::vector<double> left_;                      // [s]: what weight decay left of a value; empty without
  std::vector<float> sizes_;                      // [s - 1]: the size a of step s, where single steps are needed
  float largest_ = 0;                             // of them
  std::vector<float> shares_;                     // [s - 1]: c of step s; empty where epsilon is the same in all
};

}  // namespace recmigrate
