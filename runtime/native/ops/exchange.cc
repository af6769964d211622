// Messages between ranks for all tables of a lookup at once: RecPartitionKeys creates the message of keys and
// RecUnpackKeys reads those of all ranks; RecPackRows answers, and RecSpreadRows gives each id its row from the
// answers, or each bag the sum of its ids' rows. RecUnpackRows and RecSumRows are the gradients of these two. All are
// stateless: a graph may run them in any order.
#include <algorithm>
#include <memory>

#include "ops/attributes.h"
#include "ops/kernel.h"
#include "ops/shapes.h"
#include "store/errors.h"
#include "store/exchange/inbox.h"
#include "store/exchange/row_message.h"
#include "store/lookup/partition.h"
#include "store/parallel.h"

namespace recmigrate::ops {
namespace {

using exchange::Inbox;
using exchange::Links;
using exchange::RowMessage;

struct PartitionKernel {
  std::size_t ranks;
  std::vector<std::int64_t> owners;
  std::vector<unsigned char> counted;
  std::vector<std::size_t> widths;  // 0 if rows must not be summed by the rank that holds them
};

struct WidthsKernel {
  std::vector<std::size_t> widths;
};

struct TablesKernel {
  std::size_t tables;
};

void require_each(const char* what, std::size_t found, std::size_t tables) {
  if (found != tables) {
    fail_invalid(std::string(what) + " has " + std::to_string(found) + " values for " + std::to_string(tables) +
                 " tables");
  }
}

std::vector<std::size_t> widths_attribute(TF_OpKernelConstruction* construction) {
  std::vector<std::size_t> widths;
  for (const std::int64_t width : ints_attribute(construction, "widths")) {
    if (width < 0) fail_invalid("a row is " + std::to_string(width) + " wide: it must be 0 or more");
    widths.push_back(static_cast<std::size_t>(width));
  }
  require_each("widths", widths.size(), static_cast<std::size_t>(int_attribute(construction, "N")));
  return widths;
}

std::unique_ptr<PartitionKernel> make_partition(TF_OpKernelConstruction* construction) {
  const auto tables = static_cast<std::size_t>(int_attribute(construction, "N"));
  auto kernel = std::make_unique<PartitionKernel>();
  kernel->ranks = static_cast<std::size_t>(int_attribute(construction, "ranks"));
  kernel->owners = ints_attribute(construction, "owners");
  kernel->counted = bools_attribute(construction, "counted");
  kernel->widths = widths_attribute(construction);
  require_each("owners", kernel->owners.size(), tables);
  require_each("counted", kernel->counted.size(), tables);
  return kernel;
}

std::unique_ptr<WidthsKernel> make_widths(TF_OpKernelConstruction* construction) {
  return std::make_unique<WidthsKernel>(WidthsKernel{widths_attribute(construction)});
}

std::unique_ptr<TablesKernel> make_tables(TF_OpKernelConstruction* construction) {
  return std::make_unique<TablesKernel>(TablesKernel{static_cast<std::size_t>(int_attribute(construction, "N"))});
}

template <typename Kernel, std::unique_ptr<Kernel> (*Make)(TF_OpKernelConstruction*)>
void* create(TF_OpKernelConstruction* construction) noexcept {
  try {
    return Make(construction).release();
  } catch (...) {
    TF_OpKernelConstruction_Failure(construction, current_failure().get());
    return nullptr;
  }
}

template <typename Kernel, void (*Compute)(const Kernel&, TF_OpKernelContext*)>
void compute(void* kernel, TF_OpKernelContext* context) noexcept {
  guarded(context, [&] { Compute(*static_cast<Kernel*>(kernel), context); });
}

template <typename Kernel, std::unique_ptr<Kernel> (*Make)(TF_OpKernelConstruction*),
          void (*Compute)(const Kernel&, TF_OpKernelContext*)>
constexpr KernelFunctions made() {
  return {&create<Kernel, Make>, &compute<Kernel, Compute>, [](void* kernel) { delete static_cast<Kernel*>(kernel); }};
}

std::vector<std::int64_t> dims(std::initializer_list<std::size_t> sizes) { return {sizes.begin(), sizes.end()}; }

std::size_t inputs_of(TF_OpKernelContext* context) { return static_cast<std::size_t>(TF_NumInputs(context)); }

TensorPtr new_ints(TF_OpKernelContext* context, std::size_t output, std::size_t count) {
  return allocate_output(context, static_cast<int>(output), TF_INT32, sizeof(std::int32_t), dims({count}));
}

// The ids of each table, and the bag of each id; no bags if rows must not be summed.
struct AskedInputs {
  AskedInputs(TF_OpKernelContext* context, std::size_t tables) {
    for (std::size_t i = 0; i < tables; ++i) {
      keys.emplace_back(context, static_cast<int>(i), "keys").require_rank(1);
      bags.emplace_back(context, static_cast<int>(tables + i), "bags").require_rank(1);
      if (bags[i].elements() != 0) bags[i].require_shape(keys[i].shape());
    }
  }

  [[nodiscard]] bool pooled(std::size_t table) const { return bags[table].elements() != 0; }

  std::vector<Input> keys;
  std::vector<Input> bags;
};

void write_partition(const PartitionKernel& kernel, const exchange::Partition& partition, TF_OpKernelContext* context) {
  const TensorPtr lengths = new_ints(context, 1, kernel.ranks);
  partition.write_lengths(
      writable<std::int32_t>(lengths));  // throws before the message is created if it would be too long
  const TensorPtr message =
      allocate_output(context, 0, TF_INT64, sizeof(std::int64_t), dims({partition.message_size()}));
  partition.write_message(writable<std::int64_t>(message));
  const TensorPtr counts =
      allocate_output(context, 2, TF_INT32, sizeof(std::int32_t), dims({kernel.ranks, kernel.owners.size()}));
  partition.write_counts(writable<std::int32_t>(counts));
}

void partition_keys(const PartitionKernel& kernel, TF_OpKernelContext* context) {
  const std::size_t tables = kernel.owners.size();
  const AskedInputs inputs(context, tables);
  std::vector<TensorPtr> places(tables);
  std::vector<std::vector<std::int32_t>> places_of_ids(tables);  // of pooled ids, which have no rows of their own
  std::vector<exchange::Asked> asked;
  for (std::size_t i = 0; i < tables; ++i) {
    const Input& keys = inputs.keys[i];
    if (inputs.pooled(i)) places_of_ids[i].resize(keys.elements());
    else places[i] = new_ints(context, 3 + i, keys.elements());
    asked.push_back({keys.data<std::int64_t>(), keys.elements(), kernel.owners[i], kernel.counted[i] != 0,
                     inputs.pooled(i) ? places_of_ids[i].data() : writable<std::int32_t>(places[i]),
                     inputs.pooled(i) ? inputs.bags[i].data<std::int64_t>() : nullptr, kernel.widths[i]});
  }
  const exchange::Partition partition(asked, kernel.ranks);
  write_partition(kernel, partition, context);
  std::vector<TensorPtr> targets(tables);
  for (std::size_t i = 0; i < tables; ++i) {
    const std::size_t links = inputs.pooled(i) ? partition.links(i) : 0;
    if (inputs.pooled(i)) places[i] = new_ints(context, 3 + i, links);
    targets[i] = new_ints(context, 3 + tables + i, links);
  }
  parallel::run(tables, [&](std::size_t i) {
    if (inputs.pooled(i))
      partition.write_links(i, writable<std::int32_t>(places[i]), writable<std::int32_t>(targets[i]));
  });
}

Inbox inbox_of(const Input& message, const Input& lengths, std::size_t tables) {
  return {message.data<std::int64_t>(), message.elements(), lengths.data<std::int32_t>(), lengths.elements(), tables};
}

void unpack_keys(const TablesKernel& kernel, TF_OpKernelContext* context) {
  const Input message(context, 0, "message");
  const Input lengths(context, 1, "lengths");
  const Inbox inbox = inbox_of(message, lengths, kernel.tables);
  const std::vector<std::int32_t> answers = inbox.answers();
  const TensorPtr counts =
      allocate_output(context, 0, TF_INT32, sizeof(std::int32_t), dims({lengths.elements(), kernel.tables}));
  std::copy(answers.begin(), answers.end(), writable<std::int32_t>(counts));
  for (std::size_t i = 0; i < kernel.tables; ++i) {
    const TensorPtr keys =
        allocate_output(context, static_cast<int>(i) + 1, TF_INT64, sizeof(std::int64_t), dims({inbox.keys_of(i)}));
    inbox.write_keys(i, writable<std::int64_t>(keys));
  }
}

RowMessage message_of(const Input& counts, std::vector<std::size_t> widths) {
  const std::vector<std::int64_t> shape = counts.shape();
  if (shape.size() != 2 || shape[1] != static_cast<std::int64_t>(widths.size())) {
    fail_invalid("counts have shape " + shape_text(shape) + "; it must be [ranks, " + std::to_string(widths.size()) +
                 "]");
  }
  return {counts.data<std::int32_t>(), static_cast<std::size_t>(shape[0]), std::move(widths)};
}

RowMessage message_of(const Inbox& asked, std::vector<std::size_t> widths) {
  return {asked.answers().data(), asked.ranks(), std::move(widths)};
}

// The first inputs, `tables` matrices; returns their widths.
std::vector<Input> matrices(TF_OpKernelContext* context, std::size_t tables, std::vector<std::size_t>& widths) {
  std::vector<Input> all;
  for (std::size_t i = 0; i < tables; ++i) {
    const Input& rows = all.emplace_back(context, static_cast<int>(i), "rows");
    rows.require_rank(2);
    widths.push_back(static_cast<std::size_t>(rows.shape()[1]));
  }
  return all;
}

void require_rows(const Input& rows, std::size_t count, std::size_t width) { rows.require_shape(dims({count, width})); }

TensorPtr new_message(TF_OpKernelContext* context, const RowMessage& layout) {
  return allocate_output(context, 0, TF_FLOAT, sizeof(float), dims({layout.floats()}));
}

TensorPtr new_rows(TF_OpKernelContext* context, std::size_t table, std::size_t count, std::size_t width) {
  return allocate_output(context, static_cast<int>(table), TF_FLOAT, sizeof(float), dims({count, width}));
}

void pack_rows(TF_OpKernelContext* context) {
  const std::size_t tables = inputs_of(context) - 2;
  std::vector<std::size_t> widths;
  const std::vector<Input> rows = matrices(context, tables, widths);
  const Input asked(context, static_cast<int>(tables), "asked");
  const Inbox inbox = inbox_of(asked, Input(context, static_cast<int>(tables) + 1, "lengths"), tables);
  for (std::size_t i = 0; i < tables; ++i) require_rows(rows[i], inbox.keys_of(i), widths[i]);
  const RowMessage layout = message_of(inbox, widths);
  const TensorPtr message = new_message(context, layout);
  parallel::run(tables, [&](std::size_t i) { layout.pack(inbox, i, rows[i].data<float>(), writable<float>(message)); });
}

// The message, checked to have the expected length.
Input message_input(TF_OpKernelContext* context, const RowMessage& layout) {
  Input message(context, 0, "message");
  message.require_shape(dims({layout.floats()}));
  return message;
}

void unpack_rows(const WidthsKernel& kernel, TF_OpKernelContext* context) {
  const Input asked(context, 1, "asked");
  const Inbox inbox = inbox_of(asked, Input(context, 2, "lengths"), kernel.widths.size());
  const RowMessage layout = message_of(inbox, kernel.widths);
  const Input message = message_input(context, layout);
  std::vector<TensorPtr> rows;
  for (std::size_t i = 0; i < kernel.widths.size(); ++i) {
    rows.push_back(new_rows(context, i, inbox.keys_of(i), kernel.widths[i]));
  }
  parallel::run(rows.size(),
                [&](std::size_t i) { layout.unpack(inbox, i, message.data<float>(), writable<float>(rows[i])); });
}

// The inputs from `first` on: places of each table, then targets, which are empty if each place has a row of its own.
struct LinkInputs {
  LinkInputs(TF_OpKernelContext* context, std::size_t first, std::size_t tables) {
    for (std::size_t i = 0; i < tables; ++i) {
      places.emplace_back(context, static_cast<int>(first + i), "places");
      targets.emplace_back(context, static_cast<int>(first + tables + i), "targets");
      if (targets[i].elements() != 0) targets[i].require_shape(places[i].shape());
    }
  }

  [[nodiscard]] Links of(std::size_t table) const {
    const Input& own = targets[table];
    return {places[table].data<std::int32_t>(), own.elements() == 0 ? nullptr : own.data<std::int32_t>(),
            places[table].elements()};
  }

  std::vector<Input> places;
  std::vector<Input> targets;
};

void spread_rows(const WidthsKernel& kernel, TF_OpKernelContext* context) {
  const std::size_t tables = kernel.widths.size();
  const RowMessage layout = message_of(Input(context, 1, "counts"), kernel.widths);
  const Input message = message_input(context, layout);
  const Input bags(context, 2, "bags");
  bags.require_shape(dims({tables}));
  const LinkInputs links(context, 3, tables);
  std::vector<TensorPtr> rows;
  const auto bags_of = [&](std::size_t i) { return bags.data<std::int64_t>()[i]; };
  for (std::size_t i = 0; i < tables; ++i) {
    const std::size_t count = bags_of(i) < 0 ? links.places[i].elements() : static_cast<std::size_t>(bags_of(i));
    rows.push_back(new_rows(context, i, count, kernel.widths[i]));
  }
  parallel::run(tables, [&](std::size_t i) {
    auto* const to = writable<float>(rows[i]);
    if (bags_of(i) < 0) layout.spread(i, message.data<float>(), links.of(i), to);
    else layout.pool(i, message.data<float>(), links.of(i), static_cast<std::size_t>(bags_of(i)), to);
  });
}

void sum_rows(TF_OpKernelContext* context) {
  const std::size_t tables = (inputs_of(context) - 1) / 3;
  std::vector<std::size_t> widths;
  const std::vector<Input> gradients = matrices(context, tables, widths);
  const RowMessage layout = message_of(Input(context, static_cast<int>(tables), "counts"), widths);
  const LinkInputs links(context, tables + 1, tables);
  const TensorPtr message = new_message(context, layout);
  parallel::run(tables, [&](std::size_t i) {
    const auto count = static_cast<std::size_t>(gradients[i].shape()[0]);
    layout.sum(i, gradients[i].data<float>(), count, links.of(i), writable<float>(message));
  });
}

void partition_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  const auto tables = static_cast<std::size_t>(TF_ShapeInferenceContextNumInputs(context)) / 2;
  std::vector<int> of_outputs(3 + 2 * tables, 1);
  of_outputs[2] = 2;
  ranks(context, of_outputs, status);
}

void message_shape(TF_ShapeInferenceContext* context, TF_Status* status) { ranks(context, {1}, status); }

}  // namespace

void register_exchange_ops() {
  register_op({"RecPartitionKeys",
               {"keys: N * int64", "bags: N * int64"},
               {"message: int64", "lengths: int32", "counts: int32", "places: N * int32", "targets: N * int32"},
               {"N: int >= 1", "ranks: int >= 1", "owners: list(int)", "counted: list(bool)", "widths: list(int)"},
               &partition_shape,
               false},
              made<PartitionKernel, &make_partition, &partition_keys>());
  register_op({"RecUnpackKeys",
               {"message: int64", "lengths: int32"},
               {"counts: int32", "keys: N * int64"},
               {"N: int >= 1"},
               &unknown_shape,
               false},
              made<TablesKernel, &make_tables, &unpack_keys>());
  register_op({"RecPackRows",
               {"rows: N * float", "asked: int64", "lengths: int32"},
               {"message: float"},
               {"N: int >= 1"},
               &message_shape,
               false},
              stateless<&pack_rows>());
  register_op({"RecUnpackRows",
               {"message: float", "asked: int64", "lengths: int32"},
               {"rows: N * float"},
               {"N: int >= 1", "widths: list(int)"},
               &unknown_shape,
               false},
              made<WidthsKernel, &make_widths, &unpack_rows>());
  register_op({"RecSpreadRows",
               {"message: float", "counts: int32", "bags: int64", "places: N * int32", "targets: N * int32"},
               {"rows: N * float"},
               {"N: int >= 1", "widths: list(int)"},
               &unknown_shape,
               false},
              made<WidthsKernel, &make_widths, &spread_rows>());
  register_op({"RecSumRows",
               {"gradients: N * float", "counts: int32", "places: N * int32", "targets: N * int32"},
               {"message: float"},
               {"N: int >= 1"},
               &message_shape,
               false},
              stateless<&sum_rows>());
}

}  // namespace recmigrate::ops
