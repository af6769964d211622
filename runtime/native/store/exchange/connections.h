// Messages between the ranks of one machine. Each pair of ranks has a socket, for short frames that say where in the
// sender's memory a message lies, and each rank a few files in memory that the others can read.
//
// An exchange is a message to each rank and one from each. The exchanges of a lane follow each other in the same order
// on all ranks, those of several lanes may overtake each other. A rank sends message k + 1 of a lane when it has read
// all messages k, so that all others have read its message k - 1: two files for each lane are enough, and nobody has to
// say that a message was read.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "store/exchange/boxes.h"

namespace recmigrate::exchange {

inline constexpr std::size_t kLanes = 3;
inline constexpr std::size_t kBoxes = 2 * kLanes;  // of each rank: two for each lane
inline constexpr std::size_t kMostColumns = 8;

// What goes from one rank to another.
struct Part {
  const char* data;
  std::size_t bytes;
  const std::int32_t* columns;  // numbers that go with it, as many as the exchange has
};

enum class Failure { kInvalid, kLate, kGone, kLimit };

// Who makes an exchange. Either `take` or `fail` is called, and then `done`, after which the links forget it.
class Party {
 public:
  virtual ~Party() = default;
  // What came from each rank; this rank's own part is `own`. Valid during the call.
  virtual void take(const std::vector<Part>& parts) noexcept = 0;
  virtual void fail(Failure failure, const std::string& message) noexcept = 0;
  virtual void done() noexcept = 0;
};

struct Exchange {
  std::size_t lane;
  std::uint64_t kind;  // what must be the same on all ranks, such as type and width
  std::string text;    // the same in words, for an error
  std::size_t columns;
  std::vector<Part> parts;  // for each rank, this one included; valid until `done`
  bool same;                // all parts have the same data, which is written once
  Party* party;
};

// How another rank is reached; -1 for what this rank has not.
struct Peer {
  int socket;              // of packets, connected to it
  int process;             // readable when it has ended, or -1
  std::vector<int> boxes;  // its kBoxes files
};

class Connections {
 public:
  // Takes over all files. `peers` has an entry for each rank; that of `rank` holds its own boxes.
  Connections(std::size_t rank, double seconds, const std::vector<Peer>& peers);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // Begins an exchange, or puts it behind those of its lane. Its party may be done when this returns. Throws
  // InvalidInput in a process that was forked: it would write to the rank's memory and speak in its name.
  void exchange(Exchange asked);
  // Lets what waits fail, and ends the thread, which must not be the one that calls. Nothing may follow.
  void close() noexcept;
  // The ranks that have ended, or do not answer within `seconds`. Those that were missing once are not asked again.
  [[nodiscard]] std::vector<std::size_t> missing(double seconds);

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::size_t size() const noexcept { return ranks_.size(); }

 private:
  using Clock = std::chrono::steady_clock;

  struct Frame {
    std::uint32_t sort;  // a message, a question whether this rank is there, or the answer
    std::uint32_t lane;
    std::uint64_t number;  // of the exchange in its lane, or of the question
    std::uint64_t kind;
    std::uint64_t start;
    std::uint64_t bytes;
    std::uint64_t count;
    std::int32_t columns[kMostColumns];
  };
  struct Rank {
    explicit Rank(const Peer& peer);
    File socket;
    File process;
    std::vector<Mapping> boxes;
    bool gone = false;           // its process has ended, or its connection is lost
    bool silent = false;         // it was asked, and did not answer
    std::uint64_t answered = 0;  // the last question that it answered
  };
  struct Lane {
    std::deque<Exchange> waiting;
    bool begun = false;   // the first of them: what goes to the others is sent
    bool taking = false;  // its party reads what has come
    std::uint64_t number = 0;
    Clock::time_point since;
    std::vector<Frame> arrived[2];  // of each rank, by the last bit of the number, which is 0 if there is none
  };
  struct Late {  // an exchange that has waited for too long, and the question to those it waits for
    std::size_t lane = kLanes;
    std::uint64_t number = 0;
    std::uint64_t question = 0;
    Clock::time_point until;
  };
  using Lock = std::unique_lock<std::mutex>;

  void run() noexcept;
  void receive(std::size_t from) noexcept;
  void note(std::size_t from, const Frame& frame) noexcept;
  void check_times(Lock& lock) noexcept;
  [[nodiscard]] bool send(std::size_t to, const Frame& frame) noexcept;
  [[nodiscard]] std::uint64_t ask(const std::vector<std::size_t>& whom) noexcept;
  [[nodiscard]] bool answered(const std::vector<std::size_t>& whom, std::uint64_t question) noexcept;

  void begin(Lane& lane);
  // Ends what can be ended in a lane. It gives the lock away while it calls parties.
  void settle(std::size_t number, Lock& lock) noexcept;
  void take(std::size_t number, Lock& lock) noexcept;
  void end_first(Lane& lane, Lock& lock) noexcept;
  // Lets all exchanges fail, from now on.
  void break_off(Failure failure, const std::string& message, Lock& lock) noexcept;
  [[nodiscard]] std::vector<std::size_t> absent(const Lane& lane) const;
  [[nodiscard]] std::vector<Part> brought(const Lane& lane, const Exchange& own);
  [[nodiscard]] bool is_fork() const noexcept;

  std::size_t rank_;
  double seconds_;
  pid_t process_;
  std::vector<Rank> ranks_;
  std::vector<Lane> lanes_;
  std::vector<pollfd> polled_;  // sockets, then processes, then `stop_`
  File stop_;
  std::mutex mutex_;
  std::condition_variable heard_;
  std::uint64_t questions_ = 0;
  Late late_;
  bool broken_ = false;
  Failure failure_ = Failure::kGone;
  std::string message_;
  std::thread thread_;
};

// The links of this process, which ops use: none until `connect`.
[[nodiscard]] std::shared_ptr<Connections> connected();
void connect(std::shared_ptr<Connections> links);

}  // namespace recmigrate::exchange
