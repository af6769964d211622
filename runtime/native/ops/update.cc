// RecApply, RecApplyAt and RecApplyGroup: one update of the rows of some keys, of the rows at some addresses, or of
// many different tables.
#include "ops/update.h"

#include <algorithm>
#include <cmath>

#include "ops/attributes.h"
#include "ops/kernel.h"
#include "ops/registry.h"
#include "ops/shapes.h"
#include "ops/terms.h"
#include "store/errors.h"
#include "store/updates/slot_sets.h"

namespace recmigrate::ops {
namespace {

constexpr std::size_t kTermNumbers = 2;

// A rate that is not finite would damage every row that it touches, as that of a variable does.
void require_sane(const Update& update) {
  const Rule& rule = rule_of(update.kind);
  for (std::size_t i = 0; i < rule.hyper.size(); ++i) {
    const bool divisor = i == 0 && (rule.kind == OptimizerKind::ftrl || rule.kind == OptimizerKind::group_ftrl);
    const bool taken = update.nonfinite == Nonfinite::take || std::isfinite(update.hyper[i]);
    if (taken && (!divisor || update.hyper[i] > 0)) continue;
    fail_invalid(std::string(rule.hyper[i]) + " of optimizer " + rule.name + " is " + std::to_string(update.hyper[i]) +
                 "; it must be finite" + (divisor ? " and above 0" : "") + ", no row was changed");
  }
}

}  // namespace

Update read_update(TF_OpKernelConstruction* construction) {
  Update update;
  const Rule& rule = rule_named(string_attribute(construction, "optimizer"));
  update.kind = rule.kind;
  const std::vector<float> starts = floats_attribute(construction, "starts");
  if (starts.size() != rule.slots) {
    fail_invalid("optimizer " + std::string(rule.name) + " has " + std::to_string(rule.slots) +
                 " slots; `starts` has " + std::to_string(starts.size()) + " values");
  }
  if (!all_finite(starts.data(), starts.size())) {
    fail_invalid("`starts` of optimizer " + std::string(rule.name) +
                 " holds a NaN or an infinity; slots start with numbers");
  }
  std::copy(starts.begin(), starts.end(), update.starts.begin());
  const std::string nonfinite = string_attribute(construction, "on_nonfinite");
  if (nonfinite != "error" && nonfinite != "skip" && nonfinite != "take") {
    fail_invalid("on_nonfinite is '" + nonfinite + "'; it must be error, skip or take");
  }
  update.nonfinite = nonfinite == "skip" ? Nonfinite::skip : nonfinite == "take" ? Nonfinite::take : Nonfinite::error;
  return update;
}

Update read_update_of_set(TF_OpKernelConstruction* construction) {
  Update update = read_update(construction);
  update.set = int_attribute(construction, "slot_set");
  if (update.set < 0 || update.set > kMostSetNumber) {
    fail_invalid("slot_set is " + std::to_string(update.set) + "; a table has sets 0 to " +
                 std::to_string(kMostSetNumber));
  }
  return update;
}

Update with_hyper(const Update& kernel, TF_OpKernelContext* context, int index) {
  Update update = kernel;
  const Input hyper(context, index, "hyper");
  const std::size_t own = rule_of(update.kind).hyper.size();
  const float* const numbers = hyper.data<float>();
  if (hyper.elements() == own + kTermNumbers) {
    update.term = {true, numbers[own], numbers[own + 1]};
  } else {
    hyper.require_shape({static_cast<std::int64_t>(own)});
  }
  std::copy_n(numbers, own, update.hyper.begin());
  require_sane(update);
  return update;
}

void require_fitting(const Table& table, const Input& ids, const Input& grads) {
  try {
    ids.require_rank(1);
    const auto rows = static_cast<std::int64_t>(ids.elements());
    const auto width = static_cast<std::int64_t>(table.dim());
    if (grads.rank() == 2 && grads.dim(0) == rows && grads.dim(1) == width) return;
    grads.require_shape({rows, width});
  } catch (const InvalidInput& failure) {
    fail_invalid("the update of table '" + table.name() + "' does not fit: " + failure.what());
  }
}

namespace {

// The update, and whether gradients may hold rows of terms over whole tables.
struct ApplyKernel {
  Update update;
  bool whole_table;
  std::int64_t trainer;  // which optimizer of a table with slots for one this is; 0 does not say

  void announce(Table& table) const {
    if (trainer != 0) table.take_over(trainer, rule_of(update.kind).slots != 0);
  }
};

// Takes the rows of terms out of a gradient; those of all tables of one update become terms of their own tables.
Gradient gradient_of(const ApplyKernel& kernel, const Table& table, const Input& keys, const Input& grads) {
  if (kernel.whole_table) return without_terms(table, keys.data<std::int64_t>(), keys.elements(), grads.data<float>());
  Gradient whole;
  whole.keys = keys.data<std::int64_t>();
  whole.count = keys.elements();
  whole.grads = grads.data<float>();
  return whole;
}

void add(WholeTable& term, const WholeTable& more) noexcept {
  if (more.present) term = {true, term.l2 + more.l2, term.l1 + more.l1};
}

Update read_apart(TF_OpKernelConstruction* construction) {
  Update update = read_update_of_set(construction);
  const Rule& rule = rule_of(update.kind);
  update.squares_apart = bool_attribute(construction, "squares_apart");
  if (rule.apply == nullptr) {
    fail_invalid("optimizer " + std::string(rule.name) +
                 " has no step of its own in a table: ops of the graph compute it");
  }
  if (update.squares_apart && rule.apart == nullptr && !rule.linear) {
    fail_invalid("optimizer " + std::string(rule.name) +
                 " cannot square the gradients of equal keys one by one, only their sum");
  }
  return update;
}

void* create(TF_OpKernelConstruction* construction) noexcept {
  try {
    return new ApplyKernel{read_apart(construction), bool_attribute(construction, "whole_table"),
                           int_attribute(construction, "trainer")};
  } catch (...) {
    TF_OpKernelConstruction_Failure(construction, current_failure().get());
    return nullptr;
  }
}

void destroy(void* kernel) noexcept { delete static_cast<ApplyKernel*>(kernel); }

// Inputs are handle, keys [n] or addresses [n], grads [n, dim], hyper.
template <bool kByAddress>
void apply(void* kernel, TF_OpKernelContext* context) noexcept {
  guarded(context, [&] {
    const std::shared_ptr<Table> table = find_table(Input(context, 0, "handle").scalar<std::int64_t>());
    const Input ids(context, 1, kByAddress ? "addresses" : "keys");
    const Input grads(context, 2, "grads");
    require_fitting(*table, ids, grads);
    const auto& own = *static_cast<const ApplyKernel*>(kernel);
    Update update = with_hyper(own.update, context, 3);
    if constexpr (kByAddress) {
      table->apply_at(ids.data<std::int64_t>(), ids.elements(), grads.data<float>(), update);
    } else {
      const Gradient gradient = gradient_of(own, *table, ids, grads);
      add(update.term, gradient.term);
      own.announce(*table);
      table->apply(gradient.keys, gradient.count, gradient.grads, update);
    }
  });
}

// One table's part of RecApplyGroup, checked.
struct Member {
  Member(TF_OpKernelContext* context, int number, int count)
      : table(find_table(Input(context, number, "handle").scalar<std::int64_t>())),
        keys(context, count + number, "keys"),
        grads(context, 2 * count + number, "grads") {
    require_fitting(*table, keys, grads);
  }

  std::shared_ptr<Table> table;
  Input keys;
  Input grads;
};

// Inputs are N handles, N keys [n], N grads [n, dim], hyper; all are checked before a table is touched.
std::vector<Member> members(TF_OpKernelContext* context, int count) {
  std::vector<Member> all;
  all.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) all.emplace_back(context, i, count);
  return all;
}

void apply_group(void* kernel, TF_OpKernelContext* context) noexcept {
  guarded(context, [&] {
    const int count = TF_NumInputs(context) / 3;
    const std::vector<Member> all = members(context, count);
    const auto& own = *static_cast<const ApplyKernel*>(kernel);
    const Update update = with_hyper(own.update, context, 3 * count);
    std::vector<Gradient> parts;
    std::vector<Table::Gradients> gradients;
    parts.reserve(all.size());
    gradients.reserve(all.size());
    for (const Member& member : all) {
      parts.push_back(gradient_of(own, *member.table, member.keys, member.grads));
      const Gradient& part = parts.back();
      gradients.push_back({member.table.get(), part.keys, part.count, part.grads, part.term});
    }
    for (const Member& member : all) own.announce(*member.table);
    Table::apply_together(gradients, update);
  });
}

}  // namespace

void register_update_ops() {
  register_op({"RecApplyGroup",
               {"handles: N * int64", "keys: N * int64", "grads: N * float", "hyper: float"},
               {},
               {"N: int >= 1", "optimizer: string", "starts: list(float)", "on_nonfinite: string = 'error'",
                "whole_table: bool = false", "squares_apart: bool = false", "slot_set: int = 0", "trainer: int = 0"},
               &no_shape},
              {&create, &apply_group, &destroy});
  register_op({"RecApply",
               {"handle: int64", "keys: int64", "grads: float", "hyper: float"},
               {},
               {"optimizer: string", "starts: list(float)", "on_nonfinite: string = 'error'",
                "whole_table: bool = false", "squares_apart: bool = false", "slot_set: int = 0", "trainer: int = 0"},
               &no_shape},
              {&create, &apply<false>, &destroy});
  register_op({"RecApplyAt",
               {"handle: int64", "addresses: int64", "grads: float", "hyper: float"},
               {},
               {"optimizer: string", "starts: list(float)", "on_nonfinite: string = 'error'",
                "whole_table: bool = false", "squares_apart: bool = false", "slot_set: int = 0", "trainer: int = 0"},
               &no_shape},
              {&create, &apply<true>, &destroy});
}

}  // namespace recmigrate::ops
