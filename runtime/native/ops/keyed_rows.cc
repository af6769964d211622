// RecExportRows and RecImportRows: all data of a table's keys as separate tensors, ordered by bucket and key, for
// checkpoints that store optimizer slots as tables beside the values.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/attributes.h"
#include "ops/bloom_counters.h"
#include "ops/kernel.h"
#include "ops/registry.h"
#include "ops/shapes.h"
#include "store/errors.h"

namespace recmigrate::ops {
namespace {

constexpr std::int64_t kBuckets = 1000;

std::int64_t bucket(std::int64_t key) noexcept {
  const std::int64_t rest = key % kBuckets;
  return rest < 0 ? rest + kBuckets : rest;
}

// The numbers of the keys, ordered by bucket and key.
std::vector<std::size_t> in_order(const std::vector<std::int64_t>& keys) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&keys](std::size_t a, std::size_t b) {
    const std::int64_t one = bucket(keys[a]);
    const std::int64_t other = bucket(keys[b]);
    return one != other ? one < other : keys[a] < keys[b];
  });
  return order;
}

std::int64_t* ints(TF_OpKernelContext* context, int index, std::size_t count) {
  const TensorPtr tensor =
      allocate_output(context, index, TF_INT64, sizeof(std::int64_t), {static_cast<std::int64_t>(count)});
  return writable<std::int64_t>(tensor);
}

// Outputs `first` to `first + 3`: keys, counts, times and the offsets of buckets. Counts and times are empty if nothing
// was recorded.
void put_keys(TF_OpKernelContext* context, int first, const std::vector<std::int64_t>& keys,
              const std::vector<Sighting>& seen, bool counted, bool timed, const std::vector<std::size_t>& order) {
  const std::size_t n = keys.size();
  std::int64_t* const to = ints(context, first, n);
  std::int64_t* const counts = ints(context, first + 1, counted ? n : 0);
  std::int64_t* const times = ints(context, first + 2, timed ? n : 0);
  const TensorPtr offsets = allocate_output(context, first + 3, TF_INT32, sizeof(std::int32_t), {kBuckets + 1});
  std::int32_t* const starts = writable<std::int32_t>(offsets);
  std::fill_n(starts, kBuckets + 1, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t key = keys[order[i]];
    to[i] = key;
    if (counted) counts[i] = seen[order[i]].count;
    if (timed) times[i] = std::int64_t{seen[order[i]].last_seen} - 1;
    ++starts[bucket(key) + 1];
  }
  std::partial_sum(starts, starts + kBuckets + 1, starts);
}

// A snapshot; its rows are outputs 4 and 5.
struct Taken {
  TableMeta meta;
  std::vector<std::int64_t> keys;
  TensorPtr values;
  TensorPtr slots;
  std::vector<Sighting> seen;  // of the rows
};

Taken taken(TF_OpKernelContext* context, const Table& table) {
  Taken all;
  std::vector<std::uint32_t> cells;
  const auto output = [&](int index, std::size_t rows, std::size_t width) {
    return allocate_output(context, index, TF_FLOAT, sizeof(float),
                           {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(width)});
  };
  table.snapshot([&](const TableMeta& meta, std::size_t rows) {
    all.meta = meta;
    if (meta.seen.tracked) cells.resize(rows * meta.seen.layout.cells());
    all.keys.resize(rows);
    all.values = output(4, rows, table.dim());
    all.slots = output(5, rows, table.dim() * slot_count(meta.kind));
    return Destination{all.keys.data(), writable<float>(all.values), writable<float>(all.slots),
                       cells.empty() ? nullptr : cells.data()};
  });
  all.seen.resize(all.keys.size());
  if (!cells.empty()) {
    SeenKeys rows;
    rows.layout = all.meta.seen.layout;
    rows.add_rows(all.keys.data(), cells.data(), all.keys.size());
    all.seen = std::move(rows.sightings);
  }
  return all;
}

// Permutes rows, so that row order[i] is at i, without copying all rows, which may fill most of the memory.
void reorder(float* rows, std::size_t width, const std::vector<std::size_t>& order) {
  std::vector<bool> done(order.size());
  std::vector<float> first(width);
  for (std::size_t start = 0; start < order.size() && width != 0; ++start) {
    if (done[start]) continue;
    std::copy_n(rows + start * width, width, first.data());
    for (std::size_t at = start;; at = order[at]) {
      done[at] = true;
      const bool last = order[at] == start;
      std::copy_n(last ? first.data() : rows + order[at] * width, width, rows + at * width);
      if (last) break;
    }
  }
}

void export_rows(TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = find_table(Input(context, 0, "handle").scalar<std::int64_t>());
  const Taken all = taken(context, *table);
  const SeenKeys& seen = all.meta.seen;
  const bool timed = seen.tracked && seen.newest != kNever;
  const std::vector<std::size_t> order = in_order(all.keys);
  put_keys(context, 0, all.keys, all.seen, seen.tracked, timed, order);
  reorder(writable<float>(all.values), table->dim(), order);
  reorder(writable<float>(all.slots), table->dim() * slot_count(all.meta.kind), order);
  put_keys(context, 6, seen.keys, seen.sightings, seen.tracked, timed, in_order(seen.keys));
  put_counters(context, 10, seen);
}

struct ImportKernel {
  explicit ImportKernel(TF_OpKernelConstruction* construction)
      : rule(&named(string_attribute(construction, "optimizer"))),
        starts(floats_attribute(construction, "starts")),
        tracks(bool_attribute(construction, "tracks")),
        bloom(bloom_attributes(construction)) {
    if (starts.size() != rule->slots) {
      fail_invalid("optimizer " + std::string(rule->name) + " has " + std::to_string(rule->slots) +
                   " slots; `starts` has " + std::to_string(starts.size()) + " values");
    }
  }
  [[nodiscard]] static const Rule& named(const std::string& name) {
    return name == "none" ? rule_of(OptimizerKind::none) : rule_named(name);
  }

  const Rule* rule;
  std::vector<float> starts;
  bool tracks;
  BloomConfig bloom;
};

std::uint32_t cell(std::int64_t number) noexcept {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, 0xffffffff));
}

// Inputs first to first + 2: keys [n], counts [n], times [n].
void add_sightings(TF_OpKernelContext* context, int first, SeenKeys& seen) {
  const Input keys(context, first, "keys");
  const Input counts(context, first + 1, "counts");
  const Input times(context, first + 2, "times");
  keys.require_rank(1);
  const auto n = static_cast<std::int64_t>(keys.elements());
  counts.require_shape({n});
  times.require_shape({n});
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t time = std::clamp<std::int64_t>(times.data<std::int64_t>()[i], kNever, kLatestTime);
    seen.keys.push_back(keys.data<std::int64_t>()[i]);
    seen.sightings.push_back({cell(counts.data<std::int64_t>()[i]), cell(time + 1)});
    seen.newest = std::max(seen.newest, time);
  }
}

// Positions of keys among those of a table's rows. A slot mostly has the same keys in the same order; then no index is
// built.
class Places {
 public:
  explicit Places(const Input& keys) noexcept : keys_(keys.data<std::int64_t>()), count_(keys.elements()) {}

  [[nodiscard]] bool are_of(const Input& keys) const noexcept {
    return keys.elements() == count_ && std::equal(keys_, keys_ + count_, keys.data<std::int64_t>());
  }
  // kNone if there is no such key.
  [[nodiscard]] std::size_t of(std::int64_t key) {
    for (; known_ < count_; ++known_) places_[keys_[known_]] = known_;
    const auto found = places_.find(key);
    return found == places_.end() ? kNone : found->second;
  }
  static constexpr std::size_t kNone = ~std::size_t{0};

 private:
  const std::int64_t* keys_;
  std::size_t count_;
  std::size_t known_ = 0;
  std::unordered_map<std::int64_t, std::size_t> places_;
};

// Writes the slot of the keys to `column` of their rows; rows of other keys are not changed.
void join_slot(const Input& keys, const Input& values, Places& rows, std::size_t dim, std::size_t width,
               std::size_t column, std::vector<float>& slots) {
  keys.require_rank(1);
  values.require_shape({static_cast<std::int64_t>(keys.elements()), static_cast<std::int64_t>(dim)});
  const bool same = rows.are_of(keys);
  for (std::size_t i = 0; i < keys.elements(); ++i) {
    const std::size_t row = same ? i : rows.of(keys.data<std::int64_t>()[i]);
    if (row != Places::kNone) std::copy_n(values.data<float>() + i * dim, dim, &slots[row * width + column]);
  }
}

// Inputs are handle, seed, keys [n], counts [n], times [n], values [n, dim], keys, counts and times of waiting keys,
// settings and counters of Bloom filters; then keys and values [m, dim] of each slot.
void import_rows(const ImportKernel& kernel, TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = find_table(Input(context, 0, "handle").scalar<std::int64_t>());
  const std::size_t dim = table->dim();
  const Input keys(context, 2, "keys");
  const Input values(context, 5, "values");
  values.require_shape({static_cast<std::int64_t>(keys.elements()), static_cast<std::int64_t>(dim)});
  TableMeta meta;
  meta.seed = Input(context, 1, "seed").scalar<std::int64_t>();
  meta.dim = static_cast<std::int64_t>(dim);
  meta.seen.tracked = kernel.tracks;
  add_sightings(context, 2, meta.seen);
  const std::size_t known = meta.seen.keys.size();
  add_sightings(context, 6, meta.seen);
  take_counters(context, 9, kernel.bloom, "table '" + table->name() + "'", known, meta.seen);
  const std::size_t width = kernel.rule->slots * dim;
  std::vector<float> slots(keys.elements() * width);
  if (width != 0) {
    meta.kind = kernel.rule->kind;
    std::copy(kernel.starts.begin(), kernel.starts.end(), meta.starts.begin());
    Places rows(keys);
    for (std::size_t i = 0; i < keys.elements(); ++i) {
      for (std::size_t s = 0; s < kernel.rule->slots; ++s) {
        std::fill_n(&slots[i * width + s * dim], dim, kernel.starts[s]);
      }
    }
    const auto count = static_cast<int>(kernel.rule->slots);
    for (int s = 0; s < count; ++s) {
      join_slot(Input(context, 11 + s, "slot_keys"), Input(context, 11 + count + s, "slot_values"), rows, dim, width,
                static_cast<std::size_t>(s) * dim, slots);
    }
  }
  table->import_rows(meta, keys.data<std::int64_t>(), keys.elements(), values.data<float>(), slots.data());
}

void* create(TF_OpKernelConstruction* construction) noexcept {
  try {
    return new ImportKernel(construction);
  } catch (...) {
    TF_OpKernelConstruction_Failure(construction, current_failure().get());
    return nullptr;
  }
}

void compute(void* kernel, TF_OpKernelContext* context) noexcept {
  guarded(context, [&] { import_rows(*static_cast<const ImportKernel*>(kernel), context); });
}

void destroy(void* kernel) noexcept { delete static_cast<ImportKernel*>(kernel); }

void exported_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  ranks(context, {1, 1, 1, 1, 2, 2, 1, 1, 1, 1, 1, 1}, status);
}

}  // namespace

void register_keyed_row_ops() {
  register_op({"RecExportRows",
               {"handle: int64"},
               {"keys: int64", "counts: int64", "times: int64", "offsets: int32", "values: float", "slots: float",
                "waiting_keys: int64", "waiting_counts: int64", "waiting_times: int64", "waiting_offsets: int32",
                "bloom_filters: int64", "bloom_counters: uint8"},
               {},
               &exported_shape},
              stateless<&export_rows>());
  register_op({"RecImportRows",
               {"handle: int64", "seed: int64", "keys: int64", "counts: int64", "times: int64", "values: float",
                "waiting_keys: int64", "waiting_counts: int64", "waiting_times: int64", "bloom_filters: int64",
                "bloom_counters: uint8", "slot_keys: N * int64", "slot_values: N * float"},
               {},
               {"N: int >= 0", "optimizer: string = 'none'", "starts: list(float)", "tracks: bool = false",
                "bloom_elements: int = 0", "bloom_rate: float = 0.01", "bloom_bits: int = 32"},
               &no_shape},
              {&create, &compute, &destroy});
}

}  // namespace recmigrate::ops
