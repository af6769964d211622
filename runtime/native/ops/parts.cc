// RecPadParts makes the parts of a message to several ranks equally long, for exchanges that need it; RecCutParts
// undoes that.
#include <algorithm>
#include <cstring>

#include "ops/kernel.h"
#include "ops/shapes.h"
#include "store/errors.h"

namespace recmigrate::ops {
namespace {

void require_fitting(std::int64_t count, std::int64_t length) {
  if (count < 0 || count > length) {
    fail_invalid("a part of " + std::to_string(count) + " rows does not fit into " + std::to_string(length));
  }
}

// Positions of `counts` [parts] rows of `bytes` each, either consecutive, or each part at the start of `length` rows.
template <typename Copy>
void for_each_part(const Input& counts, std::size_t length, std::size_t rows, std::size_t bytes, const Copy& copy) {
  const auto* of_part = counts.data<std::int32_t>();
  std::size_t at = 0;
  for (std::size_t part = 0; part < counts.elements(); ++part) {
    require_fitting(of_part[part], static_cast<std::int64_t>(std::min(length, rows - at)));
    const auto count = static_cast<std::size_t>(of_part[part]);
    copy(at * bytes, part * length * bytes, count * bytes);
    at += count;
  }
  if (at != rows) fail_invalid("the parts have " + std::to_string(at) + " rows, not " + std::to_string(rows));
}

void pad_parts(TF_OpKernelContext* context) {
  const Input values(context, 0, "values");
  const Input counts(context, 1, "counts");
  const auto length = Input(context, 2, "length").scalar<std::int32_t>();
  values.require_rank(2);
  if (length < 0) fail_invalid("parts cannot have " + std::to_string(length) + " rows");
  const std::int64_t width = values.shape()[1];
  const std::size_t item = TF_DataTypeSize(values.type());
  const TensorPtr padded =
      allocate_output(context, 0, values.type(), item, {static_cast<std::int64_t>(counts.elements()), length, width});
  auto* to = writable<char>(padded);
  const auto* from = values.data<char>();
  const std::size_t bytes = static_cast<std::size_t>(width) * item;
  const auto rows = static_cast<std::size_t>(values.shape()[0]);
  const std::size_t room = static_cast<std::size_t>(length) * bytes;
  for_each_part(counts, static_cast<std::size_t>(length), rows, bytes,
                [&](std::size_t source, std::size_t target, std::size_t size) {
                  if (size != 0) std::memcpy(to + target, from + source, size);
                  if (size != room) std::memset(to + target + size, 0, room - size);
                });
}

void cut_parts(TF_OpKernelContext* context) {
  const Input padded(context, 0, "padded");
  const Input counts(context, 1, "counts");
  padded.require_rank(3);
  const std::vector<std::int64_t> shape = padded.shape();
  counts.require_shape({shape[0]});
  const std::size_t item = TF_DataTypeSize(padded.type());
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < counts.elements(); ++i) {
    const std::int64_t count = counts.data<std::int32_t>()[i];
    require_fitting(count, shape[1]);
    rows += count;
  }
  const TensorPtr values = allocate_output(context, 0, padded.type(), item, {rows, shape[2]});
  auto* to = writable<char>(values);
  const auto* from = padded.data<char>();
  const std::size_t bytes = static_cast<std::size_t>(shape[2]) * item;
  for_each_part(counts, static_cast<std::size_t>(shape[1]), static_cast<std::size_t>(rows), bytes,
                [&](std::size_t target, std::size_t source, std::size_t size) {
                  if (size != 0) std::memcpy(to + target, from + source, size);
                });
}

void padded_shape(TF_ShapeInferenceContext* context, TF_Status* status) { ranks(context, {3}, status); }

constexpr auto kValues = "T: {int32, int64, float, double}";

}  // namespace

void register_parts_ops() {
  register_op(
      {"RecPadParts", {"values: T", "counts: int32", "length: int32"}, {"padded: T"}, {kValues}, &padded_shape, false},
      stateless<&pad_parts>());
  register_op({"RecCutParts", {"padded: T", "counts: int32"}, {"values: T"}, {kValues}, &matrix_shape, false},
              stateless<&cut_parts>());
}

}  // namespace recmigrate::ops
