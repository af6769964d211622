// Ops on whole tables: size, snapshot, import, upsert, reset, and announcing the optimizer.
#include <algorithm>
#include <cmath>

#include "ops/attributes.h"
#include "ops/kernel.h"
#include "ops/registry.h"
#include "ops/shapes.h"

namespace recmigrate::ops {
namespace {

std::shared_ptr<Table> table_of(TF_OpKernelContext* context) {
  return find_table(Input(context, 0, "handle").scalar<std::int64_t>());
}

void size(TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = table_of(context);
  const TensorPtr output = allocate_output(context, 0, TF_INT64, sizeof(std::int64_t), {});
  *writable<std::int64_t>(output) = static_cast<std::int64_t>(table->size());
}

struct SnapshotKernel {
  explicit SnapshotKernel(TF_OpKernelConstruction* construction) : base(bool_attribute(construction, "base")) {}
  bool base;  // with the rows of buckets
};

struct MergeKernel {
  explicit MergeKernel(TF_OpKernelConstruction* construction) : counters(bool_attribute(construction, "counters")) {}
  bool counters;  // with the counters of admission
};

template <typename Kernel, void (*Compute)(TF_OpKernelContext*, const Kernel&)>
[[nodiscard]] constexpr KernelFunctions with_attributes() {
  return {&create_kernel<Kernel>,
          [](void* kernel, TF_OpKernelContext* context) {
            guarded(context, [&] { Compute(context, *static_cast<const Kernel*>(kernel)); });
          },
          &destroy_kernel<Kernel>};
}

void snapshot(TF_OpKernelContext* context, const SnapshotKernel& kernel) {
  const std::shared_ptr<Table> table = table_of(context);
  TensorPtr keys;
  TensorPtr values;
  TensorPtr slots;
  TableMeta saved;
  std::vector<std::uint32_t> cells;
  table->snapshot(
      [&](const TableMeta& meta, std::size_t rows) {
        saved = meta;
        if (meta.seen.tracked) cells.resize(rows * meta.seen.layout.cells());
        const auto count = static_cast<std::int64_t>(rows);
        const auto width = static_cast<std::int64_t>(slot_count(meta.kind)) * meta.dim;
        keys = allocate_output(context, 0, TF_INT64, sizeof(std::int64_t), {count});
        values = allocate_output(context, 1, TF_FLOAT, sizeof(float), {count, meta.dim});
        slots = allocate_output(context, 2, TF_FLOAT, sizeof(float), {count, width});
        return Destination{writable<std::int64_t>(keys), writable<float>(values), writable<float>(slots),
                           cells.empty() ? nullptr : cells.data()};
      },
      kernel.base);
  if (saved.seen.tracked) {
    saved.seen.add_rows(writable<std::int64_t>(keys), cells.data(), cells.size() / saved.seen.layout.cells());
  }
  const std::vector<std::int64_t> entries = saved.to_vector();
  const TensorPtr meta =
      allocate_output(context, 3, TF_INT64, sizeof(std::int64_t), {static_cast<std::int64_t>(entries.size())});
  std::copy(entries.begin(), entries.end(), writable<std::int64_t>(meta));
}

// The inputs of `import` and `merge`, checked against each other and the table.
struct Rows {
  Rows(TF_OpKernelContext* context, const Table& table)
      : keys(context, 1, "keys"),
        values(context, 2, "values"),
        slots(context, 3, "slots"),
        meta_input(context, 4, "meta") {
    keys.require_rank(1);
    meta_input.require_rank(1);
    meta =
        TableMeta::from_vector(meta_input.data<std::int64_t>(), meta_input.elements(), "table '" + table.name() + "'");
    const auto count = static_cast<std::int64_t>(keys.elements());
    const auto dim = static_cast<std::int64_t>(table.dim());
    values.require_shape({count, dim});
    slots.require_shape({count, static_cast<std::int64_t>(slot_count(meta.kind)) * dim});
  }

  Input keys;
  Input values;
  Input slots;
  Input meta_input;
  TableMeta meta;
};

void merge(TF_OpKernelContext* context, const MergeKernel& kernel) {
  const std::shared_ptr<Table> table = table_of(context);
  Rows rows(context, *table);
  if (!kernel.counters) {  // the rows become a base, and what is beside them stays behind
    rows.meta.seen = {};
    rows.meta.buckets = {};
  }
  table->merge(rows.meta, rows.keys.data<std::int64_t>(), rows.keys.elements(), rows.values.data<float>(),
               rows.slots.data<float>());
}

void import_rows(TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = table_of(context);
  const Rows rows(context, *table);
  table->import_rows(rows.meta, rows.keys.data<std::int64_t>(), rows.keys.elements(), rows.values.data<float>(),
                     rows.slots.data<float>());
}

void upsert(TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = table_of(context);
  const Input keys(context, 1, "keys");
  const Input values(context, 2, "values");
  keys.require_rank(1);
  values.require_shape({static_cast<std::int64_t>(keys.elements()), static_cast<std::int64_t>(table->dim())});
  table->upsert(keys.data<std::int64_t>(), keys.elements(), values.data<float>());
}

void remove(TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = table_of(context);
  const Input keys(context, 1, "keys");
  keys.require_rank(1);
  table->remove(keys.data<std::int64_t>(), keys.elements());
}

void begin(TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = table_of(context);
  table->begin(Input(context, 1, "optimizer").scalar<std::int64_t>(),
               Input(context, 2, "steps").scalar<std::int64_t>());
}

void start_slot(TF_OpKernelContext* context) {
  table_of(context)->start_slot(Input(context, 1, "set").scalar<std::int64_t>(),
                                Input(context, 2, "number").scalar<std::int64_t>(),
                                Input(context, 3, "start").scalar<float>());
}

void reset(TF_OpKernelContext* context) { table_of(context)->reset(); }

// Identifies rules and rates in 31 bits: 15 of a hash of the tables' rules, and 16 of the logarithm of the sum of their
// rates, in steps of 1/256. 0 if a table was not trained yet.
void trained_by(TF_OpKernelContext* context) {
  const int tables = TF_NumInputs(context);
  const TensorPtr mark = allocate_output(context, 0, TF_INT32, sizeof(std::int32_t), {});
  const TensorPtr kinds = allocate_output(context, 1, TF_INT32, sizeof(std::int32_t), {tables});
  const TensorPtr rates = allocate_output(context, 2, TF_FLOAT, sizeof(float), {tables});
  std::uint32_t hash = 2166136261U;  // FNV-1a
  double sum = 0;
  bool all = true;
  for (int i = 0; i < tables; ++i) {
    const Table::Trained trained = find_table(Input(context, i, "handle").scalar<std::int64_t>())->trained();
    hash = (hash ^ static_cast<std::uint32_t>(trained.kind)) * 16777619U;
    sum += std::abs(trained.rate);
    all = all && trained.kind != 0;
    writable<std::int32_t>(kinds)[i] = trained.kind;
    writable<float>(rates)[i] = trained.rate;
  }
  const double steps = 256 * (std::log2(std::max(sum, 1e-30)) + 128);
  const auto place = static_cast<std::uint32_t>(std::clamp(steps, 1.0, 65535.0));
  const std::uint32_t rules = (hash ^ (hash >> 15)) & 0x7FFFU;
  *writable<std::int32_t>(mark) = all ? static_cast<std::int32_t>((rules << 16) | place) : 0;
}

void trained_shape(TF_ShapeInferenceContext* context, TF_Status* status) { ranks(context, {0, 1, 1}, status); }

}  // namespace

void register_row_ops() {
  register_op({"RecTableSize", {"handle: int64"}, {"size: int64"}, {}, &scalar_shape}, stateless<&size>());
  register_op({"RecTableSnapshot",
               {"handle: int64"},
               {"keys: int64", "values: float", "slots: float", "meta: int64"},
               {"base: bool = true"},
               &snapshot_shape},
              with_attributes<SnapshotKernel, &snapshot>());
  register_op({"RecTableImport",
               {"handle: int64", "keys: int64", "values: float", "slots: float", "meta: int64"},
               {},
               {},
               &no_shape},
              stateless<&import_rows>());
  register_op({"RecTableMerge",
               {"handle: int64", "keys: int64", "values: float", "slots: float", "meta: int64"},
               {},
               {"counters: bool = true"},
               &no_shape},
              with_attributes<MergeKernel, &merge>());
  register_op({"RecTableUpsert", {"handle: int64", "keys: int64", "values: float"}, {}, {}, &no_shape},
              stateless<&upsert>());
  register_op({"RecTableRemove", {"handle: int64", "keys: int64"}, {}, {}, &no_shape}, stateless<&remove>());
  register_op({"RecTableBegin", {"handle: int64", "optimizer: int64", "steps: int64"}, {}, {}, &no_shape},
              stateless<&begin>());
  register_op(
      {"RecTableStartSlot", {"handle: int64", "set: int64", "number: int64", "start: float"}, {}, {}, &no_shape},
      stateless<&start_slot>());
  register_op({"RecTrainedBy",
               {"handles: N * int64"},
               {"mark: int32", "kinds: int32", "rates: float"},
               {"N: int >= 1"},
               &trained_shape},
              stateless<&trained_by>());
  register_op({"RecTableReset", {"handle: int64"}, {}, {}, &no_shape}, stateless<&reset>());
}

}  // namespace recmigrate::ops
