// Steps of any rule in which each row has a gradient of its own, from a term over the whole table: they are replayed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "store/updates/steps.h"

namespace recmigrate {

// sums[count, dim] += l2 * row + l1 * sign(row), for each row.
void add_term(const WholeTable& term, float* const* rows, float* sums, std::size_t count, std::size_t dim) noexcept;

// Steps that follow each other with the same hyperparameters and the same term take memory once. A row takes them one
// after the other, in the arithmetic of its rule, so that it has the same bits as if it had taken each at once.
class Replayed final : public Steps {
 public:
  // Throws InvalidInput for a rule that does not work on single elements.
  explicit Replayed(OptimizerKind kind);
  // The log that `saved` gave. Throws InvalidInput that begins with `prefix`.
  [[nodiscard]] static std::unique_ptr<Replayed> restored(OptimizerKind kind, const std::int64_t* saved,
                                                          std::size_t count, const std::string& prefix);

  [[nodiscard]] OptimizerKind kind() const noexcept override { return rule_->kind; }
  [[nodiscard]] bool fits(const Update& update) const noexcept override;
  [[nodiscard]] std::size_t bytes() const noexcept override;
  void check(const Update& update) const override;
  void reserve() override;
  void append(const Update& update) noexcept override;
  void catch_up(float* row, std::uint32_t from, std::size_t dim) const noexcept override;
  // The same for rows that all took the steps up to `from`; `gradients` has space for [count, dim].
  void catch_up_together(float* const* rows, std::size_t count, std::uint32_t from, std::size_t dim,
                         float* gradients) const noexcept;
  [[nodiscard]] bool divisible() const noexcept override { return true; }
  void value(const float* row, std::uint32_t from, std::size_t dim, float* out) const noexcept override;
  void copy(const float* row, std::uint32_t from, std::size_t dim, float* value, float* slots) const noexcept override;
  void from_start(float* value, const SlotStarts& starts, std::size_t dim) const noexcept override;
  [[nodiscard]] std::unique_ptr<Steps> extended(OptimizerKind kind) const override;
  [[nodiscard]] std::shared_ptr<const Steps> clone() const override { return std::make_shared<Replayed>(*this); }
  [[nodiscard]] std::vector<std::int64_t> saved() const override;

 private:
  void push(const float* numbers) noexcept;
  template <typename Step>
  void for_each_step(std::uint32_t from, const Step& step) const;
  void replay(float* piece, std::uint32_t from, std::size_t width) const noexcept;
  template <typename Visit>
  void by_pieces(const float* row, std::uint32_t from, std::size_t dim, const Visit& visit) const noexcept;

  const Rule* rule_;
  std::size_t width_;                // hyperparameters of a step, then l2 and l1 of its term
  std::vector<std::uint32_t> ends_;  // the last step of each run of equal steps
  std::vector<float> numbers_;       // [runs, width_]
};

}  // namespace recmigrate
