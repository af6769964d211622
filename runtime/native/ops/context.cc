#include "ops/context.h"

#include <new>
#include <stdexcept>

#include "store/errors.h"

namespace recmigrate::ops {

StatusPtr& status_of_thread() {
  static thread_local StatusPtr status;
  if (status == nullptr) status.reset(TF_NewStatus());
  return status;
}

std::shared_ptr<TF_Status> current_failure() noexcept {
  std::shared_ptr<TF_Status> status(TF_NewStatus(), DeleteStatus());
  try {
    throw;
  } catch (const TensorFlowFailure& failure) {
    TF_SetStatus(status.get(), TF_INTERNAL, "");
    return std::shared_ptr<TF_Status>(std::make_shared<TensorFlowFailure>(failure), failure.status());
  } catch (const InvalidInput& failure) {
    TF_SetStatus(status.get(), TF_INVALID_ARGUMENT, failure.what());
  } catch (const LimitReached& failure) {
    TF_SetStatus(status.get(), TF_RESOURCE_EXHAUSTED, failure.what());
  } catch (const StorageFailed& failure) {
    TF_SetStatus(status.get(), failure.damaged() ? TF_DATA_LOSS : TF_RESOURCE_EXHAUSTED, failure.what());
  } catch (const std::bad_alloc&) {
    TF_SetStatus(status.get(), TF_RESOURCE_EXHAUSTED, "out of memory in an embedding table; its rows are unchanged");
  } catch (const std::exception& failure) {
    TF_SetStatus(status.get(), TF_INTERNAL, failure.what());
  } catch (...) {
    TF_SetStatus(status.get(), TF_INTERNAL, "an unknown exception in an embedding table");
  }
  return status;
}

Input::Input(TF_OpKernelContext* context, int index, const char* what) : what_(what) {
  TF_Tensor* tensor = nullptr;
  checked([&](TF_Status* status) { TF_GetInput(context, index, &tensor, status); });
  tensor_.reset(tensor);
}

std::vector<std::int64_t> Input::shape() const {
  std::vector<std::int64_t> dims;
  for (int i = 0; i < rank(); ++i) dims.push_back(dim(i));
  return dims;
}

void Input::pass_to(TF_OpKernelContext* context, int output) const {
  checked([&](TF_Status* status) { TF_SetOutput(context, output, tensor_.get(), status); });
}

void Input::require_rank(int rank) const {
  if (this->rank() == rank) return;
  const std::string wanted = rank == 0 ? "a scalar" : "of rank " + std::to_string(rank);
  fail_invalid(std::string(what_) + " has shape " + shape_text(shape()) + "; it must be " + wanted);
}

void Input::require_shape(const std::vector<std::int64_t>& wanted) const {
  if (shape() == wanted) return;
  fail_invalid(std::string(what_) + " has shape " + shape_text(shape()) + "; it must be " + shape_text(wanted));
}

namespace {

TensorPtr allocate(TF_OpKernelContext* context, int index, TF_DataType type, std::size_t width,
                   const std::int64_t* shape, int rank) {
  std::size_t bytes = width;
  for (int axis = 0; axis < rank; ++axis) bytes *= static_cast<std::size_t>(shape[axis]);
  TensorPtr tensor;
  checked(
      [&](TF_Status* status) { tensor.reset(TF_AllocateOutput(context, index, type, shape, rank, bytes, status)); });
  return tensor;
}

}  // namespace

TensorPtr allocate_output(TF_OpKernelContext* context, int index, TF_DataType type, std::size_t width,
                          const std::vector<std::int64_t>& shape) {
  return allocate(context, index, type, width, shape.data(), static_cast<int>(shape.size()));
}

TensorPtr allocate_rows(TF_OpKernelContext* context, int index, const Input& keys, std::size_t width) {
  constexpr int kMostDims = 255;  // TensorFlow's limit is 254
  std::int64_t shape[kMostDims];
  const int rank = keys.rank();
  for (int axis = 0; axis < rank; ++axis) shape[axis] = keys.dim(axis);
  shape[rank] = static_cast<std::int64_t>(width);
  return allocate(context, index, TF_FLOAT, sizeof(float), shape, rank + 1);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

}  // namespace recmigrate::ops
