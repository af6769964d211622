// One small thread pool for the whole process. Results never depend on it: tasks write disjoint memory.
#pragma once

#include <cstddef>
#include <functional>

namespace recmigrate::parallel {

// Threads that work on one call, the caller among them: RECMIGRATE_NUM_THREADS, else the hardware's.
[[nodiscard]] std::size_t thread_count();

// Replaces the pool by one of `threads` threads (at least 1). For calls that run at the same time either pool is used.
void set_thread_count(std::size_t threads);

// Runs task(0) … task(count - 1), each once, on the caller and on idle threads of the pool; returns when all are done.
// May be called from many threads at once and from inside a task. The first exception of a task is thrown again here.
void run(std::size_t count, const std::function<void(std::size_t)>& task);

// Splits [0, size) into ranges of `grain` and runs body(begin, end) on each; small sizes stay on the calling thread.
template <typename Body>
void ranges(std::size_t size, std::size_t grain, const Body& body) {
  const std::size_t count = (size + grain - 1) / grain;
  run(count, [&](std::size_t i) { body(i * grain, i + 1 == count ? size : (i + 1) * grain); });
}

}  // namespace recmigrate::parallel
