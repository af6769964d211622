// The anchor input of lookups: it carries the gradient and the static width, and must belong to the table.
#pragma once

#include <string>

#include "ops/context.h"
#include "store/errors.h"
#include "store/table.h"

namespace recmigrate::ops {

inline void require_anchor(const Input& anchor, const Table& table) {
  if (anchor.rank() == 2 && anchor.dim(1) == static_cast<std::int64_t>(table.dim())) return;
  fail_invalid("anchor of table '" + table.name() + "' has shape " + shape_text(anchor.shape()) + "; it must be [0, " +
               std::to_string(table.dim()) + "]");
}

}  // namespace recmigrate::ops
