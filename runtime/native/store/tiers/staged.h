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

// By key. A copy is good as long as its row lies below memory, wherever there: whoever writes a row to a lower tier
// forgets the copy before. Nothing else in the table knows of copies, so they change no result. Safe for any number of
// threads.
class Staged {
 public:
  // Of rows of `width` floats.
  explicit Staged(std::size_t width) noexcept : width_(width) {}
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  // Copies that are here or being read.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t bytes() const;
  // Copies that were dropped without having been used.
  [[nodiscard]] std::uint64_t unused() const;
  // The last of the requests whose copies were used, 0 when none were.
  [[nodiscard]] std::uint64_t newest_used() const;

  // How many more copies there may be if `most` are allowed; those that were overtaken go first where there is no room.
  [[nodiscard]] std::size_t room(std::size_t most);
  // Gives distinct keys places for their copies: rows[i] is null for one that is here already. Until `end` they are
  // being read. `request` numbers those who ask, in order. Throws std::bad_alloc, and then nothing has changed.
  void begin(const std::int64_t* keys, std::size_t count, std::uint64_t request, float** rows);
  // They were read, or could not be.
  void end(const std::int64_t* keys, float* const* rows, std::size_t count, bool read) noexcept;

  // Moves the copies of keys to out[i]. `absent` gets the numbers of the keys without one, `coming` of those being
  // read.
  void take(const std::int64_t* keys, std::size_t count, float* const* out, std::vector<std::size_t>& absent,
            std::vector<std::size_t>& coming);
  // The same for those that were being read, once they are; `absent` gets those that could not be.
  void await(const std::int64_t* keys, const std::vector<std::size_t>& coming, float* const* out,
             std::vector<std::size_t>& absent);
  // A batch had its rows, copies among them or not. Copies that many batches in turn have no use for are dropped:
  // theirs will not come, as when training ended or its dataset began anew.
  void passed(bool used);

  // While nothing is being read: these copies are no longer good; none is, and rows are `width` floats from now on.
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
  std::uint64_t looked_at_ = 0;    // what that was when overtaken copies were looked for
  std::uint64_t unused_ = 0;
  std::uint32_t idle_ = 0;  // batches in turn without use for a copy
};

}  // namespace recmigrate
