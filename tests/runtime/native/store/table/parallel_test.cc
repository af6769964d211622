// The pool: every task runs once, exceptions come back, nested and concurrent calls end, and so does a forked child.
#include "store/parallel.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "check.h"

namespace parallel = recmigrate::parallel;

namespace {

TEST(parallel_runs_every_task_once) {
  parallel::set_thread_count(4);
  CHECK(parallel::thread_count() == 4);
  for (const std::size_t count : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> hits(count);
    parallel::run(count, [&](std::size_t i) { ++hits[i]; });
    for (const auto& hit : hits) CHECK(hit == 1);
  }
  std::atomic<std::size_t> covered{0};
  parallel::ranges(1001, 10, [&](std::size_t begin, std::size_t end) { covered += end - begin; });
  CHECK(covered == 1001);
}

TEST(parallel_throws_the_exception_of_a_task) {
  parallel::set_thread_count(4);
  const auto body = [](std::size_t i) {
    if (i == 37) throw std::runtime_error("task 37");
  };
  CHECK_THROWS(std::runtime_error, parallel::run(100, body), "task 37");
}

TEST(parallel_calls_may_nest_and_run_at_once) {
  parallel::set_thread_count(3);
  std::atomic<int> total{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back(
        [&] { parallel::run(20, [&](std::size_t) { parallel::run(20, [&](std::size_t) { ++total; }); }); });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(total == 4 * 20 * 20);
}

TEST(pools_are_used_again) {
  const auto threads = [] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) count += entry.exists() ? 1 : 0;
    return count;
  };
  parallel::set_thread_count(2);
  parallel::set_thread_count(3);
  const std::size_t before = threads();
  for (std::size_t i = 0; i < 50; ++i) {
    parallel::set_thread_count(2 + i % 2);
    std::atomic<int> total{0};
    parallel::run(100, [&](std::size_t) { ++total; });
    CHECK(total == 100 && parallel::thread_count() == 2 + i % 2);
  }
  CHECK(threads() == before);
  parallel::set_thread_count(100000);
  CHECK(parallel::thread_count() == parallel::kMostThreads);
  parallel::set_thread_count(2);
}

TEST(fork_child_makes_its_own_pool) {
  parallel::set_thread_count(2);
  std::atomic<int> total{0};
  parallel::run(100, [&](std::size_t) { ++total; });
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> inside{0};
    parallel::run(100, [&](std::size_t) { ++inside; });
    _exit(inside == 100 ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
