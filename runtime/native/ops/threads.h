// The native pool follows the session: as many threads as its intra_op_parallelism_threads says.
#pragma once

#include <atomic>
#include <cstddef>

#include "ops/tf_c_api.h"

namespace recmigrate::ops {

// Sets the pool to the context's intra_op_parallelism_threads, where the session was given one and
// RECMIGRATE_NUM_THREADS is not set. The pool is one for the process: of several sessions the one whose table is used
// last decides. A kernel has one object and calls `follow` each time: the session's configuration, which is written out
// to be read, stays what it is at the first.
class SessionThreads {
 public:
  void follow(TF_OpKernelContext* context);

 private:
  static constexpr int kUnknown = -1;
  std::atomic<int> wanted_{kUnknown};
};

// The number of intra_op_parallelism_threads in a serialised ConfigProto; 0 when it is not there.
[[nodiscard]] int intra_op_threads(const unsigned char* config, std::size_t bytes) noexcept;

}  // namespace recmigrate::ops
