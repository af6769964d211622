// RecPooledGradient: from the gradients of the bags of a pooled lookup to those of its distinct keys and of its
// weights. RecPooledGradientGroup does the same for many tables at once.
#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/pooled.h"
#include "ops/registry.h"
#include "ops/row_window.h"
#include "ops/shapes.h"
#include "store/parallel.h"

namespace recmigrate::ops {
namespace {

// The gradients of the bags, divided like the bags: the gradient of each of their ids, without its weight.
std::vector<float> divided(const PoolingRules& rules, const Bags& bags, const float* grads, std::size_t dim) {
  std::vector<float> result(bags.count() * dim);
  bags.for_ranges([&](std::size_t begin, std::size_t end) {
    for (std::size_t bag = begin; bag < end; ++bag) {
      const float by = bag_divisor(rules, bags, bag);
      if (bags.weights() != nullptr) {
        divide(&result[bag * dim], grads + bag * dim, by, dim);
      } else if (bags.size(bag) != 0) {
        // Like TensorFlow, which multiplies here.
        const double count = static_cast<double>(bags.size(bag));
        scale(&result[bag * dim], grads + bag * dim,
              static_cast<float>(1.0 / (rules.combiner == Combiner::mean ? count : std::sqrt(count))), dim);
      }
    }
  });
  return result;
}

// Gradients of the distinct keys, before their rows were clipped.
void sum_by_key(const Bags& bags, const DistinctKeys& distinct, const float* grads, std::size_t dim, std::int64_t* keys,
                float* sums) {
  const std::vector<std::uint32_t> bag_of = bags.bag_of();
  distinct.for_each_part([&](const DistinctPart& part) {
    std::copy_n(part.keys, part.distinct, keys + part.begin);
    std::vector<std::uint32_t> from(part.ids);
    for (std::size_t i = 0; i < part.ids; ++i) from[i] = bag_of[part.positions[i]];
    float* to = sums + part.begin * dim;
    if (bags.weights() == nullptr) {
      sum_rows(to, part.numbers, grads, from.data(), part.ids, dim);
    } else {
      std::vector<float> weights(part.ids);
      for (std::size_t i = 0; i < part.ids; ++i) weights[i] = bags.weights()[part.positions[i]];
      sum_weighted_rows(to, part.numbers, grads, from.data(), weights.data(), part.ids, dim);
    }
  });
}

void clip_sums(const RowReader& reader, std::size_t count, float max_norm, std::size_t dim, float* sums) {
  parallel::ranges(count, 2048, [&](std::size_t begin, std::size_t end) {
    RowWindow rows(reader, begin, end, nullptr, dim);
    for (std::size_t i = begin; i < end; ++i) {
      rows.fetch(i, 1);
      clip_gradient(sums + i * dim, rows[i], max_norm, dim);
    }
  });
}

// Gradients of the weights of one bag: of sum(w * row) / d(w).
void weigh_bag(const PoolingRules& rules, const Bags& bags, std::size_t bag, RowWindow& rows, const float* grad,
               std::size_t dim, float* out) {
  std::vector<float> along(bags.size(bag));  // of the divided gradient and each row
  float pooled = 0;                          // sum of w * along
  for (std::size_t i = 0; i < along.size(); ++i) {
    const std::size_t id = bags.begin(bag) + i;
    rows.fetch(id, 1);
    along[i] = dot(grad, rows[id], dim);
    pooled += bags.weights()[id] * along[i];
  }
  const float by = bag_divisor(rules, bags, bag);
  for (std::size_t i = 0; i < along.size(); ++i) {
    const std::size_t id = bags.begin(bag) + i;
    if (bags.origin(id) == Bags::kFilled) continue;
    float less = 0;
    if (rules.combiner != Combiner::sum && by != 0) {
      less = rules.combiner == Combiner::mean ? pooled / by : pooled / by * bags.weights()[id] / by;
    }
    out[bags.origin(id)] = along[i] - less;
  }
}

// One table's part of a gradient, checked. Inputs: handle, keys, layout, weights, rows, max_norm, grads; outputs:
// distinct keys, their gradients, and, if requested, the gradients of the weights.
class Gradient {
 public:
  Gradient(TF_OpKernelContext* context, Ports ports, const PoolingRules& rules, bool weights)
      : rules_(rules),
        table_(find_table(Input(context, ports[0], "handle").scalar<std::int64_t>())),
        bags_(context, ports, 1, rules),
        norm_(context, ports[5], "max_norm"),
        max_norm_(max_norm_of(norm_)),
        grads_(context, ports[6], "grads"),
        weights_(weights ? bags_.given() : 0) {
    grads_.require_shape({static_cast<std::int64_t>(bags_.count()), static_cast<std::int64_t>(table_->dim())});
  }

  void find_distinct() { distinct_.emplace(*table_, bags_.keys(), bags_.ids()); }

  void allocate(TF_OpKernelContext* context, Ports ports) {
    const auto count = static_cast<std::int64_t>(distinct_->size());
    keys_ = allocate_output(context, ports[0], TF_INT64, sizeof(std::int64_t), {count});
    sums_ =
        allocate_output(context, ports[1], TF_FLOAT, sizeof(float), {count, static_cast<std::int64_t>(table_->dim())});
    weight_grads_ = allocate_output(context, ports[2], TF_FLOAT, sizeof(float), {static_cast<std::int64_t>(weights_)});
  }

  void run() const {
    const std::size_t dim = table_->dim();
    const bool divide_first = rules_.combiner != Combiner::sum;
    const std::vector<float> own =
        divide_first ? divided(rules_, bags_, grads_.data<float>(), dim) : std::vector<float>();
    const float* const grads = divide_first ? own.data() : grads_.data<float>();
    sum_by_key(bags_, *distinct_, grads, dim, writable<std::int64_t>(keys_), writable<float>(sums_));
    if (weights_ != 0) weigh(grads);
    const bool found = distinct_->ids().epoch != Table::kNotSearched;
    if (max_norm_ == nullptr && !found) return;
    Table::StepBatchPtr alone = distinct_->alone(writable<std::int64_t>(keys_));
    if (max_norm_ != nullptr) {
      table_->view_batch(*alone, [&](const RowReader& reader) {
        clip_sums(reader, distinct_->size(), *max_norm_, dim, writable<float>(sums_));
      });
    }
    if (found) table_->leave_batch(std::move(alone));
  }

 private:
  void weigh(const float* grads) const {
    const std::size_t dim = table_->dim();
    auto* const out = writable<float>(weight_grads_);
    std::fill_n(out, weights_, 0.0F);
    table_->view_batch(distinct_->ids(), [&](const RowReader& reader) {
      bags_.for_ranges([&](std::size_t begin, std::size_t end) {
        RowWindow rows(reader, bags_.begin(begin), bags_.begin(end), max_norm_, dim);
        for (std::size_t bag = begin; bag < end; ++bag)
          weigh_bag(rules_, bags_, bag, rows, grads + bag * dim, dim, out);
      });
    });
  }

  const PoolingRules& rules_;
  std::shared_ptr<Table> table_;
  Bags bags_;
  Input norm_;
  const float* max_norm_;
  Input grads_;
  std::size_t weights_;
  std::optional<DistinctKeys> distinct_;
  TensorPtr keys_;
  TensorPtr sums_;
  TensorPtr weight_grads_;
};

void compute_gradient(void* given, TF_OpKernelContext* context) noexcept {
  guarded(context, [&] {
    const PoolingKernel& kernel = *static_cast<const PoolingKernel*>(given);
    std::vector<std::unique_ptr<Gradient>> gradients;
    for (std::size_t i = 0; i < kernel.members.size(); ++i) {
      const PoolingRules& rules = kernel.members[i];
      const bool weights = rules.weighted && kernel.weight_gradients[i] != 0;
      gradients.push_back(std::make_unique<Gradient>(context, kernel.ports(i), rules, weights));
    }
    parallel::run(gradients.size(), [&](std::size_t i) { gradients[i]->find_distinct(); });
    for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i]->allocate(context, kernel.ports(i));
    parallel::run(gradients.size(), [&](std::size_t i) { gradients[i]->run(); });
  });
}

}  // namespace

void register_pooled_gradients() {
  const KernelFunctions kernel = pooling_kernel<false, true>(&compute_gradient);
  register_keyed_op(
      {"RecPooledGradient",
       {"handle: int64", "keys: Tkey", "layout: int64", "weights: float", "rows: int64", "max_norm: float",
        "grads: float"},
       {"unique_keys: int64", "sums: float", "weight_grads: float"},
       pooling_attributes({"Tkey: {int32, int64} = DT_INT64", "combiner: {'sum', 'mean', 'sqrtn'}",
                           "splits: bool = false", "weighted: bool = false", "weight_gradient: bool = true"}),
       &pooled_gradient_shape},
      kernel, kernel);
  register_op({"RecPooledGradientGroup",
               {"handles: N * int64", "keys: N * int64", "layouts: N * int64", "weights: N * float", "rows: N * int64",
                "max_norms: N * float", "grads: N * float"},
               {"unique_keys: N * int64", "sums: N * float", "weight_grads: N * float"},
               pooling_attributes({"N: int >= 1", "combiners: list(string)", "splits: list(bool)",
                                   "weighted: list(bool)", "weight_gradients: list(bool)"}),
               &pooled_gradient_shape},
              pooling_kernel<true, true>(&compute_gradient));
}

}  // namespace recmigrate::ops
