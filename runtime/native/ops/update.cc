// RecApplySgd, RecApplyAdagrad and RecApplyLazyAdam: one update of the rows of some keys.
#include "ops/kernel.h"
#include "ops/registry.h"
#include "ops/shapes.h"

namespace recmigrate::ops {
namespace {

// Inputs 0 … 2 are handle, keys [n] and grads [n, dim].
void apply(TF_OpKernelContext* context, const Update& update) {
  const std::shared_ptr<Table> table = find_table(Input(context, 0, "handle").scalar<std::int64_t>());
  const Input keys(context, 1, "keys");
  keys.require_rank(1);
  const Input grads(context, 2, "grads");
  grads.require_shape({static_cast<std::int64_t>(keys.elements()), static_cast<std::int64_t>(table->dim())});
  table->apply(keys.data<std::int64_t>(), keys.elements(), grads.data<float>(), update);
}

float hyperparameter(TF_OpKernelContext* context, int index, const char* name) {
  return Input(context, index, name).scalar<float>();
}

void apply_sgd(TF_OpKernelContext* context) {
  Update update;
  update.kind = OptimizerKind::sgd;
  update.learning_rate = hyperparameter(context, 3, "learning_rate");
  apply(context, update);
}

struct AdagradKernel {
  float initial_accumulator;
};

void* create_adagrad(TF_OpKernelConstruction* construction) noexcept {
  try {
    AdagradKernel kernel{};
    checked([&](TF_Status* status) {
      TF_OpKernelConstruction_GetAttrFloat(construction, "initial_accumulator_value", &kernel.initial_accumulator,
                                           status);
    });
    return new AdagradKernel(kernel);
  } catch (...) {
    TF_OpKernelConstruction_Failure(construction, current_failure().get());
    return nullptr;
  }
}

void apply_adagrad(void* kernel, TF_OpKernelContext* context) noexcept {
  try {
    Update update;
    update.kind = OptimizerKind::adagrad;
    update.initial_accumulator = static_cast<const AdagradKernel*>(kernel)->initial_accumulator;
    update.learning_rate = hyperparameter(context, 3, "learning_rate");
    update.epsilon = hyperparameter(context, 4, "epsilon");
    apply(context, update);
  } catch (...) {
    TF_OpKernelContext_Failure(context, current_failure().get());
  }
}

void destroy_adagrad(void* kernel) noexcept { delete static_cast<AdagradKernel*>(kernel); }

void apply_lazy_adam(TF_OpKernelContext* context) {
  Update update;
  update.kind = OptimizerKind::lazy_adam;
  update.learning_rate = hyperparameter(context, 3, "learning_rate");
  update.beta1_power = hyperparameter(context, 4, "beta1_power");
  update.beta2_power = hyperparameter(context, 5, "beta2_power");
  update.beta1 = hyperparameter(context, 6, "beta1");
  update.beta2 = hyperparameter(context, 7, "beta2");
  update.epsilon = hyperparameter(context, 8, "epsilon");
  apply(context, update);
}

}  // namespace

void register_update_ops() {
  register_op({"RecApplySgd",
               {"handle: int64", "keys: int64", "grads: float", "learning_rate: float"},
               {},
               {},
               &no_shape},
              stateless<&apply_sgd>());
  register_op({"RecApplyAdagrad",
               {"handle: int64", "keys: int64", "grads: float", "learning_rate: float", "epsilon: float"},
               {},
               {"initial_accumulator_value: float"},
               &no_shape},
              {&create_adagrad, &apply_adagrad, &destroy_adagrad});
  register_op({"RecApplyLazyAdam",
               {"handle: int64", "keys: int64", "grads: float", "learning_rate: float", "beta1_power: float",
                "beta2_power: float", "beta1: float", "beta2: float", "epsilon: float"},
               {},
               {},
               &no_shape},
              stateless<&apply_lazy_adam>());
}

}  // namespace recmigrate::ops
