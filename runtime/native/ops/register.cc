// Runs when the library is loaded: every op and kernel registers itself with the TensorFlow that loads it.
#include "ops/kernel.h"

namespace recmigrate::ops {
namespace {

void define(const OpSpec& op) {
  TF_OpDefinitionBuilder* builder = TF_NewOpDefinitionBuilder(op.name);
  for (const char* attr : op.attrs) TF_OpDefinitionBuilderAddAttr(builder, attr);
  for (const char* input : op.inputs) TF_OpDefinitionBuilderAddInput(builder, input);
  for (const char* output : op.outputs) TF_OpDefinitionBuilderAddOutput(builder, output);
  // TensorFlow makes an op stateful whatever the second argument is.
  if (op.stateful) TF_OpDefinitionBuilderSetIsStateful(builder, true);
  TF_OpDefinitionBuilderSetShapeInferenceFunction(builder, op.shape);
  const StatusPtr status(TF_NewStatus());
  TF_RegisterOpDefinition(builder, status.get());
}

void add_kernel(const char* op, const KernelFunctions& kernel, const TF_DataType* key_type) {
  const StatusPtr status(TF_NewStatus());
  TF_KernelBuilder* builder = TF_NewKernelBuilder(op, "CPU", kernel.create, kernel.compute, kernel.destroy);
  if (key_type != nullptr) TF_KernelBuilder_TypeConstraint(builder, "Tkey", *key_type, status.get());
  TF_RegisterKernelBuilder(op, builder, status.get());
}

struct AtLoad {
  AtLoad() {
    register_handle_op();
    register_lookup_ops();
    register_pooled_ops();
    register_grouped_ops();
    register_update_ops();
    register_expansion_ops();
    register_term_ops();
    register_row_ops();
    register_increment_ops();
    register_meta_op();
    register_thread_ops();
    register_admission_ops();
    register_counting_ops();
    register_keyed_row_ops();
    register_prepare_op();
    register_tier_ops();
    register_prefetch_op();
    register_exchange_ops();
    register_parts_ops();
    register_rank_ops();
    register_device_ops();
  }
};

const AtLoad at_load;

}  // namespace

void register_op(const OpSpec& op, const KernelFunctions& kernel) {
  define(op);
  add_kernel(op.name, kernel, nullptr);
}

void register_async_op(const OpSpec& op, const AsyncFunctions& kernel) {
  define(op);
  const StatusPtr status(TF_NewStatus());
  TF_RegisterKernelBuilder(
      op.name, TF_NewAsyncKernelBuilder(op.name, "CPU", kernel.create, kernel.begin, kernel.destroy), status.get());
}

void register_keyed_op(const OpSpec& op, const KernelFunctions& int32_kernel, const KernelFunctions& int64_kernel) {
  define(op);
  const TF_DataType int32 = TF_INT32;
  const TF_DataType int64 = TF_INT64;
  add_kernel(op.name, int32_kernel, &int32);
  add_kernel(op.name, int64_kernel, &int64);
}

}  // namespace recmigrate::ops
