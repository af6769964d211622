// The update rules as data: names, slots, hyperparameters, and the loop that updates whole rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace recmigrate {

// The numbers are stored in checkpoints.
enum class OptimizerKind : std::int64_t {
  none = 0,
  sgd = 1,
  adagrad = 2,
  lazy_adam = 3,
  momentum = 4,
  adagrad_decay = 5,
  lazy_adamw = 6,
  rmsprop = 7,
  rmsprop_centered = 8,
  ftrl = 9,
  group_ftrl = 10,
  adadelta = 11,
  adam = 12,
  keras_adam = 13,
  keras_adamw = 14,
  keras_momentum = 15,
  adagrad_inside = 16,  // epsilon inside the root
  adam_scaled = 17,     // epsilon times the root of 1 - beta2^t
  adamax = 18,
  // Slots of an optimizer whose step a graph composes of reads and writes of rows; see store/device/rows_on_device.h.
  composed_1 = 19,
  composed_2 = 20,
  composed_3 = 21,
  composed_4 = 22,
  proximal_adagrad = 23,
  proximal_sgd = 24,
  adagrad_da = 25,           // dual averaging
  keras_momentum_rows = 26,  // keras_momentum of the rows with a gradient alone
};

inline constexpr std::size_t kMaxSlots = 8;  // of all optimizers of a table
inline constexpr std::size_t kMaxHyper = 16;

// The initial value of each slot of a new row.
using SlotStarts = std::array<float, kMaxSlots>;

// What happens to a row whose summed gradient has a NaN or an infinity: the whole update is refused, the row is not
// changed, or it takes the step, as a row of a variable does.
enum class Nonfinite { error, skip, take };

// A term of the loss over all rows of a table: each row has l2 * row + l1 * sign(row) as a gradient of its own, and
// takes each step, whether it is in the batch or not.
struct WholeTable {
  bool present = false;
  float l2 = 0;
  float l1 = 0;
};

// One update of a table.
struct Update {
  OptimizerKind kind = OptimizerKind::none;
  std::array<float, kMaxHyper> hyper{};  // in the order of hyper_names(kind)
  SlotStarts starts{};
  Nonfinite nonfinite = Nonfinite::error;
  WholeTable term{};
  // Rules add the squares of all gradients of a key, not the square of their sum. A term over the table makes the
  // gradient one sum.
  bool squares_apart = false;
  std::int64_t set = 0;  // which of a table's optimizers this is; see updates/slot_sets.h

  [[nodiscard]] bool needs_squares() const noexcept { return squares_apart && !term.present; }
};

// Whether rows outside of the batch move at a step by this rule alone.
[[nodiscard]] constexpr bool is_deferred(OptimizerKind kind) noexcept {
  return kind == OptimizerKind::adam || kind == OptimizerKind::adam_scaled || kind == OptimizerKind::keras_adam ||
         kind == OptimizerKind::keras_adamw || kind == OptimizerKind::keras_momentum;
}

// Whether an update is a step of every row.
[[nodiscard]] constexpr bool moves_all(const Update& update) noexcept {
  return update.term.present || is_deferred(update.kind);
}

// Updates `count` distinct rows (value[dim], then the slots) with the gradients [count, dim].
using ApplyRule = void (*)(const float* hyper, float* const* rows, const float* grads, std::size_t count,
                           std::size_t dim);

// The same with the sums of the squares of each row's gradients, [count, dim], where a rule would square their sum.
using ApplyApart = void (*)(const float* hyper, float* const* rows, const float* grads, const float* squares,
                            std::size_t count, std::size_t dim);

struct Rule;

// One of several optimizers of a table: its slots lie behind `slots_before` of others.
struct Member {
  const Rule* rule;
  std::int64_t set;
  std::size_t slots_before;
};

struct Rule {
  OptimizerKind kind;
  const char* name;
  std::size_t slots;
  std::vector<const char*> hyper;
  ApplyRule apply;  // null if a table applies it in another way, or the graph does
  ApplyApart apart = nullptr;
  bool linear = false;            // squares nothing
  std::vector<Member> members{};  // of the kind of a table with several optimizers
};

// The rule of a kind, which several optimizers may have together (updates/slot_sets.h); that of `none`, without slots,
// for a kind that does not exist.
[[nodiscard]] const Rule& rule_of(OptimizerKind kind) noexcept;
// Throws InvalidInput that names the existing rules.
[[nodiscard]] const Rule& rule_named(const std::string& name);

// Slots per row of a rule, each `dim` wide.
[[nodiscard]] inline std::size_t slot_count(OptimizerKind kind) noexcept { return rule_of(kind).slots; }

// The rule's name in messages; "none" before the first update.
[[nodiscard]] inline const char* optimizer_name(OptimizerKind kind) noexcept { return rule_of(kind).name; }

// `squares` is null unless they are kept apart.
inline void apply_update(const Update& update, float* const* rows, const float* grads, const float* squares,
                         std::size_t count, std::size_t dim) noexcept {
  const Rule& rule = rule_of(update.kind);
  if (squares != nullptr && rule.apart != nullptr) {
    return rule.apart(update.hyper.data(), rows, grads, squares, count, dim);
  }
  rule.apply(update.hyper.data(), rows, grads, count, dim);
}

// sums[numbers[i]] += rows[positions[i]] for i = 0 … count - 1, in this order; rows are `dim` wide. Numbers must first
// appear in the order 0, 1, 2, …, and the first row of each is copied, so `sums` need not be initialized.
void sum_rows(float* sums, const std::uint32_t* numbers, const float* rows, const std::uint32_t* positions,
              std::size_t count, std::size_t dim) noexcept;

// The same with the squares of the elements of rows.
void sum_squares(float* sums, const std::uint32_t* numbers, const float* rows, const std::uint32_t* positions,
                 std::size_t count, std::size_t dim) noexcept;

// out[positions[i]] = rows[numbers[i]] for i = 0 … count - 1; rows of `out` are `dim` wide.
void spread_rows(float* out, const std::uint32_t* positions, const float* const* rows, const std::uint32_t* numbers,
                 std::size_t count, std::size_t dim) noexcept;

// Whether none of these is a NaN or an infinity.
[[nodiscard]] bool all_finite(const float* values, std::size_t count) noexcept;

}  // namespace recmigrate
