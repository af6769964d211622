// Threads of the process that tend tables with several tiers in the background.
#pragma once

namespace recmigrate {

// What is to be tended now and then.
class Tended {
 public:
  // Called by one thread at a time.
  virtual void tend() noexcept = 0;

 protected:
  ~Tended() = default;
};

namespace sweeper {

// What for. Each has threads of its own.
enum class Work : unsigned { trim, compact, prefetch };

// TF_MULTI_TIER_EV_EVICTION_THREADS, 1 when it is not set; 0: tables are tended by the thread that uses them. For
// `compact` one when TF_SSDHASH_ASYNC_COMPACTION is 1; else none: the thread that trims compacts. For `prefetch`
// RECMIGRATE_PREFETCH_THREADS, 1 when it is not set; 0: nothing is read ahead.
[[nodiscard]] unsigned threads(Work work = Work::trim) noexcept;

// Has `one` tended soon, once however often it was asked for; a thread that has nothing to do sleeps. Throws
// std::system_error when no thread can be started.
void ask(Tended& one, Work work = Work::trim);

// Returns when nobody tends it any more, and nobody will.
void forget(Tended& one, Work work = Work::trim) noexcept;

}  // namespace sweeper
}  // namespace recmigrate
