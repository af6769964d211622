// Threads of the process that maintain tables with several tiers in the background.
#pragma once

namespace recmigrate {

// An object that needs maintenance from time to time.
class Tended {
 public:
  // Called by one thread at a time.
  virtual void tend() noexcept = 0;

 protected:
  ~Tended() = default;
};

namespace sweeper {

// The kinds of maintenance. Each has threads of its own.
enum class Work : unsigned { trim, compact, prefetch };

// Number of threads: TF_MULTI_TIER_EV_EVICTION_THREADS, default 1; 0: tables are maintained by the threads that use
// them. For `compact`, 1 if TF_SSDHASH_ASYNC_COMPACTION is 1; else none: the thread that moves rows down compacts. For
// `prefetch`, RECMIGRATE_PREFETCH_THREADS, default 1; 0: nothing is read ahead.
[[nodiscard]] unsigned threads(Work work = Work::trim) noexcept;

// Schedules maintenance of `one`, once for any number of requests; a thread without work sleeps. Throws
// std::system_error if no thread can be started.
void ask(Tended& one, Work work = Work::trim);

// Returns once no thread maintains it, or will.
void forget(Tended& one, Work work = Work::trim) noexcept;

}  // namespace sweeper
}  // namespace recmigrate
