// Rows whose values have two bytes, where steps and rules need them as float32. A call that works on a few columns at a
// time needs no memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "store/rows/rows.h"
#include "store/rows/value_type.h"
#include "store/updates/steps.h"

namespace recmigrate::narrow {

// What is left of a value once it was stored.
void round(ValueType type, float* value, std::size_t dim) noexcept;

// As the functions of `Steps` with these names, of a row with a cell for its last step. What catches up is rounded
// once, to the nearest; what is read is not rounded.
void value(const RowLayout& layout, const Steps& steps, const float* row, float* out) noexcept;
void catch_up(const RowLayout& layout, const Steps& steps, float* row) noexcept;
void copy(const RowLayout& layout, const Steps& steps, const float* row, float* value, float* slots) noexcept;

}  // namespace recmigrate::narrow
