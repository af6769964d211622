// A small thread pool for the whole process. Results never depend on it, because tasks write disjoint memory.
#pragma once

#include <cstddef>
#include <type_traits>

namespace recmigrate::parallel {

// A reference to a callable. Unlike std::function it never allocates, so starting tasks cannot fail.
class Task {
 public:
  template <typename Body, typename = std::enable_if_t<!std::is_same_v<Body, Task>>>
  Task(const Body& body) noexcept  // implicit, so that a lambda can be passed to `run`
      : body_(&body), call_([](const void* what, std::size_t i) { (*static_cast<const Body*>(what))(i); }) {}

  void operator()(std::size_t i) const { call_(body_, i); }

 private:
  const void* body_;
  void (*call_)(const void*, std::size_t);
};

// Number of threads that work on one call, including the caller: RECMIGRATE_NUM_THREADS, else that of the hardware.
[[nodiscard]] std::size_t thread_count() noexcept;

inline constexpr std::size_t kMostThreads = 256;

// Switches to a pool of `threads` threads (1 to kMostThreads). Running calls continue on the old pool, which is kept in
// case that number is needed again. Throws std::bad_alloc.
void set_thread_count(std::size_t threads);

// Runs task(0) … task(count - 1), each once, on the caller and on idle threads of the pool, and waits for all of them.
// May be called from many threads at once and from inside a task. Rethrows the first exception of a task, and throws
// nothing else.
void run(std::size_t count, Task task);

// Splits [0, size) into ranges of `grain` and runs body(begin, end) on each; small sizes stay on the calling thread.
template <typename Body>
void ranges(std::size_t size, std::size_t grain, const Body& body) {
  const std::size_t count = (size + grain - 1) / grain;
  run(count, [&](std::size_t i) { body(i * grain, i + 1 == count ? size : (i + 1) * grain); });
}

}  // namespace recmigrate::parallel
