// Owned statuses and tensors of a running kernel, checked access to its inputs, and the boundary no exception crosses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/tf_c_api.h"

namespace recmigrate::ops {

struct DeleteStatus {
  void operator()(TF_Status* status) const noexcept { TF_DeleteStatus(status); }
};
struct DeleteTensor {
  void operator()(TF_Tensor* tensor) const noexcept { TF_DeleteTensor(tensor); }
};
using StatusPtr = std::unique_ptr<TF_Status, DeleteStatus>;
using TensorPtr = std::unique_ptr<TF_Tensor, DeleteTensor>;

// TensorFlow itself refused (allocation, attribute): its status travels as it is.
class TensorFlowFailure : public std::exception {
 public:
  explicit TensorFlowFailure(StatusPtr status) : status_(std::move(status)) {}
  [[nodiscard]] TF_Status* status() const noexcept { return status_.get(); }

 private:
  std::shared_ptr<TF_Status> status_;
};

// A status of this thread, which is OK: TensorFlow's functions overwrite it. Small ops call many of them.
[[nodiscard]] StatusPtr& status_of_thread();

// Calls function(status) and throws TensorFlowFailure unless the status is OK.
template <typename Function>
void checked(Function&& function) {
  StatusPtr& status = status_of_thread();
  function(status.get());
  if (TF_GetCode(status.get()) != TF_OK) throw TensorFlowFailure(std::exchange(status, nullptr));
}

// The status for the exception that is being handled: bad input, exhausted memory or limits, anything else.
[[nodiscard]] std::shared_ptr<TF_Status> current_failure() noexcept;

// One input of a kernel; `what` names it in messages.
class Input {
 public:
  Input(TF_OpKernelContext* context, int index, const char* what);

  [[nodiscard]] std::vector<std::int64_t> shape() const;
  [[nodiscard]] int rank() const { return TF_NumDims(tensor_.get()); }
  [[nodiscard]] std::int64_t dim(int axis) const { return TF_Dim(tensor_.get(), axis); }
  [[nodiscard]] TF_DataType type() const { return TF_TensorType(tensor_.get()); }
  [[nodiscard]] std::size_t elements() const { return static_cast<std::size_t>(TF_TensorElementCount(tensor_.get())); }

  // The only element; throws InvalidInput unless the input is a scalar.
  template <typename Value>
  [[nodiscard]] Value scalar() const {
    require_rank(0);
    return *data<Value>();
  }
  template <typename Value>
  [[nodiscard]] const Value* data() const {
    return static_cast<const Value*>(TF_TensorData(tensor_.get()));
  }
  // Makes this very tensor, no copy of it, an output of the op.
  void pass_to(TF_OpKernelContext* context, int output) const;
  // Throws InvalidInput with both shapes when they differ.
  void require_rank(int rank) const;
  void require_shape(const std::vector<std::int64_t>& wanted) const;

 private:
  TensorPtr tensor_;
  const char* what_;
};

// Allocates output `index` and returns it; `shape` in elements.
[[nodiscard]] TensorPtr allocate_output(TF_OpKernelContext* context, int index, TF_DataType type, std::size_t width,
                                        const std::vector<std::int64_t>& shape);

// The same for the rows of keys, float keys.shape + [width]; small lookups are frequent, so nothing is put on the heap.
[[nodiscard]] TensorPtr allocate_rows(TF_OpKernelContext* context, int index, const Input& keys, std::size_t width);

template <typename Value>
[[nodiscard]] Value* writable(const TensorPtr& tensor) {
  return static_cast<Value*>(TF_TensorData(tensor.get()));
}

[[nodiscard]] std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace recmigrate::ops
