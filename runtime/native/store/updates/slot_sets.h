// Several optimizers of one table. As each has slots of its own on a variable, each has a *set* of slots in the table's
// rows: value[dim], then the sets, one behind the other in the order in which their optimizers first updated.
#pragma once

#include <cstddef>

#include "store/updates/optimizer.h"

namespace recmigrate {

inline constexpr std::size_t kMostSets = 4;        // of one table
inline constexpr std::int64_t kMostSetNumber = 7;  // an update names its set by a number from 0 on

// The kind of a table that has the slots of one set is, for set 0, that of its rule. Otherwise it has a byte for each
// set, the first one lowest: the rule's number in five bits, the set's in three. `rule_of` such a kind has the slots of
// all, and as `members` the rules of the sets; a step by it is a step of one member.
[[nodiscard]] OptimizerKind kind_of_set(OptimizerKind rule, std::int64_t set) noexcept;

// The rule of a kind with several sets, or with one other than 0; null for a number that is none.
[[nodiscard]] const Rule* joint_rule(OptimizerKind kind);

// What a table's rows have slots of, and what those of new rows start with.
struct SlotSets {
  OptimizerKind kind;
  SlotStarts starts;
};

// The sets of a table with that of an update, which is added behind them if it is not there. If it is there with
// another rule, it alone. Throws InvalidInput, with the table's name, for more than a row can have.
[[nodiscard]] SlotSets with_set(const SlotSets& present, const Update& update, const std::string& name);

// Whether `kind` has the sets of `present`, and more behind them.
[[nodiscard]] bool extends(OptimizerKind kind, OptimizerKind present) noexcept;

// How many slots of a table of this kind lie before those of the update's set; kNoSet if it is not there, or has
// another rule.
inline constexpr std::size_t kNoSet = ~std::size_t{0};
[[nodiscard]] std::size_t slots_before(OptimizerKind kind, const Update& update) noexcept;

// Which of all slots of a row the slot `number` of a set is; kNoSet if rows of a table of this kind do not have it.
[[nodiscard]] std::size_t place_of_slot(OptimizerKind kind, std::int64_t set, std::int64_t number) noexcept;

// As `apply_update`, of rows of a table of this kind, which has the update's set.
void apply_set(OptimizerKind kind, const Update& update, float* const* rows, const float* grads, const float* squares,
               std::size_t count, std::size_t dim) noexcept;

// The hyperparameters of a step as a log keeps them: as many as `rule.hyper` has. Those of a member follow its number.
void write_step(const Rule& rule, const Update& update, float* numbers) noexcept;

// Lets `count` rows take a step that `write_step` has written.
void apply_step(const Rule& rule, const float* numbers, float* const* rows, const float* grads, std::size_t count,
                std::size_t dim) noexcept;

}  // namespace recmigrate
