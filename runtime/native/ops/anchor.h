// The anchor input of lookups: it carries the gradient. As a value it also carries the static width, and must belong to
// the table. As a resource it is never read, so that a lookup needs one node less; a constant `like` has the width.
#pragma once

#include <atomic>
#include <string>

#include "ops/context.h"
#include "store/errors.h"
#include "store/table.h"

namespace recmigrate::ops {

// Attributes of an op whose anchor may be a resource: its type, and how many inputs `like` there are. With the defaults
// the anchor is a value and there are none, as in graphs of version 0.1.
inline constexpr const char* kAnchorType = "Tanchor: {float, resource} = DT_FLOAT";
inline constexpr const char* kLikes = "likes: int >= 0 = 0";

inline void require_anchor(const Input& anchor, const Table& table) {
  if (anchor.rank() == 2 && anchor.dim(1) == static_cast<std::int64_t>(table.dim())) return;
  fail_invalid("anchor of table '" + table.name() + "' has shape " + shape_text(anchor.shape()) + "; it must be [0, " +
               std::to_string(table.dim()) + "]");
}

// Checks what carries the width once for each table: handles are never used again.
class WidthCheck {
 public:
  void require(TF_OpKernelContext* context, int input, std::int64_t handle, const Table& table) const {
    if (checked_.load(std::memory_order_relaxed) == handle) return;
    require_anchor(Input(context, input, "anchor"), table);
    checked_.store(handle, std::memory_order_relaxed);
  }

 private:
  mutable std::atomic<std::int64_t> checked_{0};
};

}  // namespace recmigrate::ops
