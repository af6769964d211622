// One op as data, and its registration: definition, shape function and CPU kernel in one call.
#pragma once

#include <initializer_list>

#include "ops/context.h"
#include "ops/notices.h"

namespace recmigrate::ops {

using ShapeFunction = void (*)(TF_ShapeInferenceContext*, TF_Status*);

struct OpSpec {
  const char* name;
  std::initializer_list<const char*> inputs;
  std::initializer_list<const char*> outputs;
  std::vector<const char*> attrs;
  ShapeFunction shape;
  bool stateful = true;
};

// What TensorFlow calls for a kernel: `create` once for each node of a graph, from its attributes; `compute`, with what
// `create` returned, in each run of the node; `destroy` at the end. Kernels without state leave the other two null.
struct KernelFunctions {
  void* (*create)(TF_OpKernelConstruction*);
  void (*compute)(void*, TF_OpKernelContext*);
  void (*destroy)(void*);
};

// The same of an op that takes no thread while it waits: `begin` returns at once, and the op ends when its callback is
// called.
struct AsyncFunctions {
  void* (*create)(TF_OpKernelConstruction*);
  void (*begin)(void*, TF_OpKernelContext*, TF_AsyncOpKernelDoneCallback*);
  void (*destroy)(void*);
};

// Registers the op and its CPU kernel; a keyed op has one kernel for each type of its attribute `Tkey`. TensorFlow only
// notes this, and registers once the library is loaded: an op that it refuses, since a second copy of the library has
// registered it, say, makes tf.load_op_library raise.
void register_op(const OpSpec& op, const KernelFunctions& kernel);
void register_async_op(const OpSpec& op, const AsyncFunctions& kernel);
void register_keyed_op(const OpSpec& op, const KernelFunctions& int32_kernel, const KernelFunctions& int64_kernel);

// Runs the computation of an op. An exception that body() throws becomes the status of the op. The engine's notices are
// delivered afterwards, when it holds no lock.
template <typename Body>
void guarded(TF_OpKernelContext* context, const Body& body) noexcept {
  try {
    body();
  } catch (...) {
    TF_OpKernelContext_Failure(context, current_failure().get());
  }
  deliver_notices();
}

// A kernel without state whose body is `Compute(context)`.
template <void (*Compute)(TF_OpKernelContext*)>
void compute_guarded(void* /*kernel*/, TF_OpKernelContext* context) noexcept {
  guarded(context, [&] { Compute(context); });
}

template <void (*Compute)(TF_OpKernelContext*)>
[[nodiscard]] constexpr KernelFunctions stateless() {
  return {nullptr, &compute_guarded<Compute>, nullptr};
}

// A kernel with state: what it reads from its attributes, or the status of the op if that throws.
template <typename Kernel>
void* create_kernel(TF_OpKernelConstruction* construction) noexcept {
  try {
    return new Kernel(construction);
  } catch (...) {
    TF_OpKernelConstruction_Failure(construction, current_failure().get());
    return nullptr;
  }
}

template <typename Kernel>
void destroy_kernel(void* kernel) noexcept {
  delete static_cast<Kernel*>(kernel);
}

// Registration of one group of ops; called once, from register.cc.
void register_handle_op();
void register_lookup_ops();
void register_pooled_ops();
void register_grouped_ops();
void register_update_ops();
void register_term_ops();
void register_row_ops();
void register_increment_ops();
void register_meta_op();
void register_thread_ops();
void register_expansion_ops();
void register_admission_ops();
void register_counting_ops();
void register_keyed_row_ops();
void register_prepare_op();
void register_tier_ops();
void register_prefetch_op();
void register_exchange_ops();
void register_parts_ops();
void register_rank_ops();
void register_device_ops();

}  // namespace recmigrate::ops
