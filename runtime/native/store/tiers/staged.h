// Copies of rows of lower tiers that were read ahead of the batches that will need them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "store/rows/index.h"

namespace recmigrate {

// Copies by key. A copy is valid as long as its row is below memory, in whichever place: whoever writes a row to a
// lower tier drops its copy first. The rest of the table does not know about copies, so they change no result. Safe for
// any number of threads.
class Staged {
 public:
  // Of rows of `width` floats.
  explicit Staged(std::size_t width) noexcept : width_(width) {}
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  // Number of copies that are here or being read.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t bytes() const;
  // Number of copies that were dropped unused.
  [[nodiscard]] std::uint64_t unused() const;
  // The latest request whose copies were used; 0 if there is none.
  [[nodiscard]] std::uint64_t newest_used() const;

  // How many more copies there may be if `most` are allowed; obsolete ones are dropped if there is no space.
  [[nodiscard]] std::size_t room(std::size_t most);
  // Reserves places for copies of distinct keys: rows[i] is null if the copy exists already. Until `end` they are being
  // read. `request` is the number of the request, ascending. If it throws std::bad_alloc, nothing has changed.
  void begin(const std::int64_t* keys, std::size_t count, std::uint64_t request, float** rows);
  // They were read, or could not be read.
  void end(const std::int64_t* keys, float* const* rows, std::size_t count, bool read) noexcept;

  // Moves the copies of keys to out[i]. `absent` gets the numbers of keys without a copy, `coming` of those being read.
  void take(const std::int64_t* keys, std::size_t count, float* const* out, std::vector<std::size_t>& absent,
            std::vector<std::size_t>& coming);
  // The same for those being read, once they are; `absent` gets those that could not be read.
  void await(const std::int64_t* keys, const std::vector<std::size_t>& coming, float* const* out,
             std::vector<std::size_t>& absent);
  // Records that a batch got its rows, with or without copies. Copies that many batches in a row did not use are
  // dropped: their batch will not come, for example because training ended or its dataset was restarted.
  void passed(bool used);

  // Called while nothing is being read: drops these copies, or all; rows are `width` floats from now on.
  void forget(const std::int64_t* keys, std::size_t count) noexcept;
  void restart(std::size_t width) noexcept;

 private:
  enum class State : std::uint8_t { free, reading, ready };
  struct Place {
    std::int64_t key = 0;
    std::uint64_t request = 0;
    State state = State::free;
  };

  [[nodiscard]] float* row(Slot slot) const noexcept;
  void release(Slot slot) noexcept;
  void drop_before(std::uint64_t request) noexcept;
  void free_memory() noexcept;
  void use(Slot slot, float* out) noexcept;

  mutable std::mutex mutex_;  // guards what follows
  std::size_t width_;
  std::condition_variable ended_;
  Index index_;
  std::vector<Place> places_;
  std::vector<Slot> free_;
  std::vector<std::unique_ptr<float[]>> chunks_;
  std::uint64_t newest_used_ = 0;  // request
  std::uint64_t looked_at_ = 0;    // value of newest_used_ when obsolete copies were last searched
  std::uint64_t unused_ = 0;
  std::uint32_t idle_ = 0;  // batches in a row that did not use a copy
};

}  // namespace recmigrate
