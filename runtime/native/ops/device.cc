// Ops for rows on a device: they say where rows lie and what must move, and copy columns of rows to and from the table.
// The rows there are ordinary variables, which TensorFlow's own ops read and write.
#include <algorithm>
#include <string>
#include <vector>

#include "ops/anchor.h"
#include "ops/attributes.h"
#include "ops/kernel.h"
#include "ops/registry.h"
#include "ops/shapes.h"
#include "ops/update.h"
#include "store/errors.h"

namespace recmigrate::ops {
namespace {

std::shared_ptr<Table> table_of(TF_OpKernelContext* context) {
  return find_table(Input(context, 0, "handle").scalar<std::int64_t>());
}

void put_ints(TF_OpKernelContext* context, int index, const std::vector<std::int64_t>& values) {
  const TensorPtr output =
      allocate_output(context, index, TF_INT64, sizeof(std::int64_t), {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), writable<std::int64_t>(output));
}

void place(TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = table_of(context);
  require_anchor(Input(context, 1, "anchor"), *table);
  const Input keys(context, 2, "keys");
  const Input admitted(context, 3, "admitted");
  const bool all = admitted.elements() == 0;
  if (!all) admitted.require_shape(keys.shape());
  const TensorPtr places = allocate_output(context, 0, TF_INT64, sizeof(std::int64_t), keys.shape());
  Moves moves;
  table->on_device().places().place(keys.data<std::int64_t>(), keys.elements(), all ? nullptr : admitted.data<bool>(),
                                    TF_StepId(context), writable<std::int64_t>(places), moves);
  put_ints(context, 1, moves.in_keys);
  put_ints(context, 2, moves.in_places);
  put_ints(context, 3, moves.out_keys);
  put_ints(context, 4, moves.out_places);
  const TensorPtr ticket = allocate_output(context, 5, TF_INT64, sizeof(std::int64_t), {});
  *writable<std::int64_t>(ticket) = moves.ticket;
}

template <bool kIn>
void moved(TF_OpKernelContext* context) {
  table_of(context)->on_device().places().moved(Input(context, 1, "ticket").scalar<std::int64_t>(), kIn);
}

void find(TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = table_of(context);
  const Input keys(context, 1, "keys");
  const TensorPtr places = allocate_output(context, 0, TF_INT64, sizeof(std::int64_t), keys.shape());
  table->on_device().places().find(keys.data<std::int64_t>(), keys.elements(), writable<std::int64_t>(places));
}

template <bool kOnlyChanged>
void all(TF_OpKernelContext* context) {
  std::vector<std::int64_t> keys;
  std::vector<std::int64_t> places;
  table_of(context)->on_device().places().all(kOnlyChanged, keys, places);
  put_ints(context, 0, keys);
  put_ints(context, 1, places);
}

void forget(TF_OpKernelContext* context) { table_of(context)->on_device().places().clear(); }

void status(TF_OpKernelContext* context) {
  const PlacesStatus now = table_of(context)->on_device().places().status();
  put_ints(context, 0,
           {static_cast<std::int64_t>(now.capacity), static_cast<std::int64_t>(now.rows),
            static_cast<std::int64_t>(now.found), static_cast<std::int64_t>(now.fetched),
            static_cast<std::int64_t>(now.written)});
}

// An update's rule, and the slot or column that an op copies.
template <bool kHasColumn>
struct RuleKernel {
  explicit RuleKernel(TF_OpKernelConstruction* construction)
      : update(kHasColumn ? read_update_of_set(construction) : read_update(construction)),
        column(kHasColumn ? int_attribute(construction, "column") : 0) {
    const auto columns = static_cast<std::int64_t>(rule_of(update.kind).slots) + 1;
    if (column < 0 || column >= columns) {
      fail_invalid("column " + std::to_string(column) + " of a row does not exist; optimizer " +
                   rule_of(update.kind).name + " has " + std::to_string(columns));
    }
  }
  Update update;
  std::int64_t column;
};

template <typename Kernel, void (*Compute)(const Kernel&, TF_OpKernelContext*)>
void compute(void* kernel, TF_OpKernelContext* context) noexcept {
  guarded(context, [&] { Compute(*static_cast<const Kernel*>(kernel), context); });
}

template <typename Kernel, void (*Compute)(const Kernel&, TF_OpKernelContext*)>
constexpr KernelFunctions stateful() {
  return {&create_kernel<Kernel>, &compute<Kernel, Compute>, &destroy_kernel<Kernel>};
}

using ColumnKernel = RuleKernel<true>;

RowsOnDevice::Write write_named(const std::string& how) {
  if (how == "copy") return RowsOnDevice::Write::copy;
  if (how == "set") return RowsOnDevice::Write::set;
  if (how == "add") return RowsOnDevice::Write::add;
  if (how == "sub") return RowsOnDevice::Write::sub;
  fail_invalid("how is '" + how + "'; it must be copy, set, add or sub");
}

struct WriteKernel : ColumnKernel {
  explicit WriteKernel(TF_OpKernelConstruction* construction)
      : ColumnKernel(construction), how(write_named(string_attribute(construction, "how"))) {}
  RowsOnDevice::Write how;
};

// With `partial`, rows may lie on the host, too.
struct ApplyKernel : RuleKernel<false> {
  explicit ApplyKernel(TF_OpKernelConstruction* construction)
      : RuleKernel<false>(construction), partial(bool_attribute(construction, "partial")) {}
  bool partial;
};

void read_slot(const ColumnKernel& kernel, TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = table_of(context);
  if (kernel.column == 0) fail_invalid("column 0 of a row is its value, not a slot: look it up");
  const Input keys(context, 2, "keys");
  keys.require_rank(1);
  const TensorPtr values =
      allocate_output(context, 0, TF_FLOAT, sizeof(float),
                      {static_cast<std::int64_t>(keys.elements()), static_cast<std::int64_t>(table->dim())});
  table->on_device().read_slot(keys.data<std::int64_t>(), keys.elements(), kernel.update,
                               static_cast<std::size_t>(kernel.column - 1), writable<float>(values));
}

void write_column(const WriteKernel& kernel, TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = table_of(context);
  const Input keys(context, 1, "keys");
  const Input values(context, 2, "values");
  require_fitting(*table, keys, values);
  if (keys.elements() == 0) return;
  table->on_device().write(keys.data<std::int64_t>(), keys.elements(), kernel.update,
                           static_cast<std::size_t>(kernel.column), kernel.how, values.data<float>());
}

void apply(const ApplyKernel& kernel, TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = table_of(context);
  const Input keys(context, 1, "keys");
  keys.require_rank(1);
  const Update update = with_hyper(kernel.update, context, 2);
  const TensorPtr numbers = allocate_output(context, 0, TF_INT32, sizeof(std::int32_t), keys.shape());
  std::vector<std::int64_t> rest;
  const std::vector<std::int64_t> places =
      table->on_device().changed(keys.data<std::int64_t>(), keys.elements(), update, writable<std::int32_t>(numbers),
                                 kernel.partial ? &rest : nullptr);
  put_ints(context, 1, places);
  put_ints(context, 2, rest);
}

void placed_shape(TF_ShapeInferenceContext* context, TF_Status* outcome) {
  ranks(context, {1, 1, 1, 1, 1, 0}, outcome);
  if (TF_GetCode(outcome) == TF_OK) like_input_shape(context, 2, 0, outcome);
}

void pair_shape(TF_ShapeInferenceContext* context, TF_Status* outcome) { ranks(context, {1, 1}, outcome); }

void three_vectors(TF_ShapeInferenceContext* context, TF_Status* outcome) { ranks(context, {1, 1, 1}, outcome); }

void vector_shape(TF_ShapeInferenceContext* context, TF_Status* outcome) { ranks(context, {1}, outcome); }

std::vector<const char*> rule_attributes() {
  return {"optimizer: string = 'sgd'", "starts: list(float) = []", "on_nonfinite: string = 'error'"};
}

std::vector<const char*> apply_attributes() {
  std::vector<const char*> all = rule_attributes();
  all.push_back("partial: bool = false");
  return all;
}

std::vector<const char*> column_attributes() {
  std::vector<const char*> all = rule_attributes();
  all.push_back("column: int");
  all.push_back("slot_set: int = 0");
  return all;
}

std::vector<const char*> write_attributes() {
  std::vector<const char*> all = column_attributes();
  all.push_back("how: string = 'copy'");
  return all;
}

}  // namespace

void register_device_ops() {
  register_op(
      {"RecLookupPlaces",
       {"handle: int64", "anchor: float", "keys: int64", "admitted: bool"},
       {"places: int64", "in_keys: int64", "in_places: int64", "out_keys: int64", "out_places: int64", "ticket: int64"},
       {},
       &placed_shape},
      stateless<&place>());
  register_op({"RecRowsLeft", {"handle: int64", "ticket: int64"}, {}, {}, &no_shape}, stateless<&moved<false>>());
  register_op({"RecRowsCame", {"handle: int64", "ticket: int64"}, {}, {}, &no_shape}, stateless<&moved<true>>());
  register_op({"RecFindPlaces", {"handle: int64", "keys: int64"}, {"places: int64"}, {}, &like_keys_shape},
              stateless<&find>());
  register_op({"RecAllPlaces", {"handle: int64"}, {"keys: int64", "places: int64"}, {}, &pair_shape},
              stateless<&all<false>>());
  register_op({"RecChangedPlaces", {"handle: int64"}, {"keys: int64", "places: int64"}, {}, &pair_shape},
              stateless<&all<true>>());
  register_op({"RecForgetPlaces", {"handle: int64"}, {}, {}, &no_shape}, stateless<&forget>());
  register_op({"RecPlacesStatus", {"handle: int64"}, {"status: int64"}, {}, &vector_shape}, stateless<&status>());
  register_op({"RecReadSlot",
               {"handle: int64", "anchor: float", "keys: int64"},
               {"values: float"},
               column_attributes(),
               &lookup_shape},
              stateful<ColumnKernel, &read_slot>());
  register_op({"RecWriteColumn", {"handle: int64", "keys: int64", "values: float"}, {}, write_attributes(), &no_shape},
              stateful<WriteKernel, &write_column>());
  register_op({"RecApplyPlaces",
               {"handle: int64", "keys: int64", "hyper: float"},
               {"numbers: int32", "places: int64", "rest: int64"},
               apply_attributes(),
               &three_vectors},
              stateful<ApplyKernel, &apply>());
}

}  // namespace recmigrate::ops
