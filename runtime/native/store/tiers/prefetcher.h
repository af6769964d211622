// Reads rows of lower tiers in the background, ahead of the batches that will need them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "store/tiers/tiers.h"

namespace recmigrate {

class Tiers::Prefetcher final : public Tended {
 public:
  explicit Prefetcher(Tiers& tiers) noexcept : tiers_(tiers) {}

  // Reads the rows of these keys in turn; if far too many are waiting, the batch is skipped.
  void add(std::vector<std::int64_t> keys);
  // Continues, if there is work. Batches that need rows themselves have priority: it pauses for them.
  void go_on() noexcept;
  // Searches again for the keys of batches that are still to come: rows that were in memory may have moved down.
  void search_again() noexcept;
  // Stops for good.
  void close() noexcept;

  void tend() noexcept override;

 private:
  friend class Tiers::Needing;

  struct Request {
    std::uint64_t number;  // in the order of requests
    std::vector<std::int64_t> keys;
    std::size_t done = 0;   // of them
    bool searched = false;  // once, to the end
  };

  void forget_requests(std::uint64_t used) noexcept;
  [[nodiscard]] Request* next();
  [[nodiscard]] bool read_some();
  void find_below(Request& request, std::size_t most);
  std::size_t read(std::uint64_t request, std::size_t count);

  // A key whose row lies in a tier below memory.
  struct RowBelow {
    std::int64_t key;
    std::size_t tier;
    Slot place;
  };

  Tiers& tiers_;
  std::atomic<bool> closed_{false};
  std::atomic<int> needing_{0};          // batches that are finding and reading their rows now
  std::atomic<std::size_t> waiting_{0};  // keys to search
  std::atomic<bool> again_{false};       // also search all keys that were requested before
  std::mutex mutex_;                     // guards what follows
  std::deque<std::vector<std::int64_t>> requests_;

  // Of the thread that tends it.
  std::deque<Request> asked_;    // taken from `requests`; one that was searched stays until its batch has come
  std::uint64_t taken_ = 0;      // requests
  std::vector<RowBelow> below_;  // the rows to read next
};

// While a batch has its rows found and read.
class Tiers::Needing {
 public:
  explicit Needing(Tiers& tiers) noexcept : tiers_(tiers) { ++tiers_.prefetcher_->needing_; }
  ~Needing();
  Needing(const Needing&) = delete;
  Needing& operator=(const Needing&) = delete;

  // Reads rows of a tier, or takes their copies.
  void get(std::size_t tier, const std::int64_t* keys, const Slot* places, std::size_t count, float* const* out);

 private:
  Tiers& tiers_;
  bool used_ = false;
};

}  // namespace recmigrate
