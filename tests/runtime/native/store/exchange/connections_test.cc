// Exchanges between ranks that are threads of one process: what arrives, the order within a lane, who is late or gone.
#include "store/exchange/connections.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <future>
#include <limits>
#include <numeric>
#include <thread>

#include "check.h"
#include "store/errors.h"

namespace exchange = recmigrate::exchange;

namespace {

using exchange::Connections;
using exchange::Part;
using Numbers = std::vector<std::int32_t>;

// The links of `size` ranks of this process, whose boxes begin with `length` bytes.
std::vector<std::unique_ptr<Connections>> connected_ranks(std::size_t size, double seconds, off_t length = 0) {
  std::vector<std::vector<exchange::Peer>> peers(size, std::vector<exchange::Peer>(size, {-1, -1, {}}));
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = i + 1; j < size; ++j) {
      std::array<int, 2> ends{};
      CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
      peers[i][j].socket = ends[0];
      peers[j][i].socket = ends[1];
    }
    for (std::size_t box = 0; box < exchange::kBoxes; ++box) {
      const int file = memfd_create("test", MFD_CLOEXEC);
      CHECK(file >= 0 && ftruncate(file, length) == 0);
      for (std::size_t j = 0; j < size; ++j) peers[j][i].boxes.push_back(j == i ? file : dup(file));
    }
  }
  std::vector<std::unique_ptr<Connections>> links;
  for (std::size_t i = 0; i < size; ++i) links.push_back(std::make_unique<Connections>(i, seconds, peers[i]));
  return links;
}

// What a rank has received, or why not.
struct Outcome {
  Numbers values;
  Numbers columns;
  std::string failed;
  exchange::Failure failure = exchange::Failure::kInvalid;
};

class Waiter : public exchange::Party {
 public:
  explicit Waiter(std::size_t columns) : columns_(columns) {}
  void take(const std::vector<Part>& parts) noexcept override {
    for (const Part& part : parts) {
      Numbers values(part.bytes / sizeof(std::int32_t));
      if (part.bytes != 0) std::memcpy(values.data(), part.data, part.bytes);
      outcome_.values.insert(outcome_.values.end(), values.begin(), values.end());
      outcome_.columns.insert(outcome_.columns.end(), part.columns, part.columns + columns_);
    }
  }
  void fail(exchange::Failure failure, const std::string& message) noexcept override {
    outcome_.failure = failure;
    outcome_.failed = message;
  }
  void done() noexcept override { promise_.set_value(outcome_); }
  std::future<Outcome> outcome() { return promise_.get_future(); }

 private:
  std::size_t columns_;
  Outcome outcome_;
  std::promise<Outcome> promise_;
};

// Sends `counts[i]` of `values` to each rank i, and waits.
Outcome exchanged(Connections& links, const Numbers& values, const Numbers& counts, std::size_t lane = 0,
                  std::uint64_t kind = 1, bool same = false) {
  Waiter waiter(1);
  std::vector<Part> parts;
  const std::int32_t* at = values.data();
  for (const std::int32_t& count : counts) {
    parts.push_back({reinterpret_cast<const char*>(at), static_cast<std::size_t>(count) * sizeof *at, &count});
    if (!same) at += count;
  }
  std::future<Outcome> outcome = waiter.outcome();
  links.exchange({lane, kind, "numbers", 1, parts, same, &waiter});
  return outcome.get();
}

Numbers from(std::int32_t first, std::size_t count) {
  Numbers values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST(connections_exchange_parts_of_any_length) {
  const auto links = connected_ranks(3, 20);
  const auto rank = [&](std::size_t own) {
    for (std::int32_t step = 0; step < 300; ++step) {
      // rank r sends r + 1 + (step mod 5) numbers to rank 0, none to rank 1, and very many to rank 2 now and then
      const auto sent = [&](std::size_t by, std::size_t to) {
        const auto few = static_cast<std::int32_t>(by) + 1 + step % 5;
        return to == 0 ? few : to == 1 ? 0 : step % 50 == 49 ? 20000 * few : few;
      };
      const Numbers counts{sent(own, 0), sent(own, 1), sent(own, 2)};
      const Numbers values =
          from(1000000 * static_cast<std::int32_t>(own) + step, static_cast<std::size_t>(counts[0] + counts[2]));
      const Outcome got = exchanged(*links[own], values, counts);
      Numbers want;
      for (std::size_t by = 0; by < 3; ++by) {
        const std::int32_t before = own == 2 ? sent(by, 0) : 0;
        const Numbers part =
            from(1000000 * static_cast<std::int32_t>(by) + step + before, static_cast<std::size_t>(sent(by, own)));
        want.insert(want.end(), part.begin(), part.end());
      }
      CHECK(got.failed.empty());
      CHECK(got.values == want);
      CHECK((got.columns == Numbers{sent(0, own), sent(1, own), sent(2, own)}));
    }
  };
  std::vector<std::future<void>> running;
  for (std::size_t own = 0; own < 3; ++own) running.push_back(std::async(std::launch::async, rank, own));
  for (auto& one : running) one.get();
}

TEST(connections_lanes_overtake_each_other_and_gathers_are_written_once) {
  const auto links = connected_ranks(2, 20);
  // Each rank waits in another lane first: neither may wait for the other one's other exchange.
  auto first = std::async(std::launch::async, [&] { return exchanged(*links[0], {1, 2}, {2, 2}, 0, 1, true); });
  auto second = std::async(std::launch::async, [&] { return exchanged(*links[1], {7}, {1, 1}, 2, 1, true); });
  const Outcome other = exchanged(*links[0], {5}, {1, 1}, 2, 1, true);
  CHECK((other.values == Numbers{5, 7}));
  CHECK((second.get().values == Numbers{5, 7}));
  CHECK((exchanged(*links[1], {3}, {1, 1}, 0, 1, true).values == Numbers{1, 2, 3}));
  CHECK((first.get().values == Numbers{1, 2, 3}));
}

TEST(connections_are_not_those_of_a_forked_process) {
  const auto links = connected_ranks(2, 20);
  const pid_t process = fork();
  if (process == 0) {
    try {
      (void)exchanged(*links[0], {1}, {1, 0});
    } catch (const recmigrate::InvalidInput&) {
      _exit(links[0]->missing(20).empty() ? 7 : 2);
    }
    _exit(1);
  }
  int status = 0;
  CHECK(waitpid(process, &status, 0) == process);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  auto other = std::async(std::launch::async, [&] { return exchanged(*links[1], {4}, {1, 0}); });
  CHECK((exchanged(*links[0], {3}, {1, 0}).values == Numbers{3, 4}));
  other.get();
}

TEST(connections_wait_for_any_time) {
  for (const double seconds : {1e12, std::numeric_limits<double>::infinity()}) {
    const auto links = connected_ranks(2, seconds);
    auto own = std::async(std::launch::async, [&] { return exchanged(*links[0], {3}, {1, 0}); });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    (void)exchanged(*links[1], {4}, {1, 0});
    CHECK(own.get().failed.empty());
  }
}

TEST(connections_refuse_what_ranks_do_not_make_alike) {
  const auto links = connected_ranks(2, 20);
  auto other = std::async(std::launch::async, [&] { return exchanged(*links[1], {1}, {1, 0}, 0, 2); });
  const Outcome own = exchanged(*links[0], {1}, {1, 0}, 0, 1);
  CHECK(own.failed ==
        "all ranks must make the same exchanges in the same order: rank 0 exchanges numbers, but rank 1 does not");
  CHECK(own.failure == exchange::Failure::kInvalid);
  CHECK(!other.get().failed.empty());
  other = std::async(std::launch::async, [&] { return exchanged(*links[1], {4}, {1, 0}); });
  CHECK((exchanged(*links[0], {3}, {1, 0}).values == Numbers{3, 4}));  // the lane goes on
  other.get();
}

TEST(connections_say_what_cannot_be_mapped) {
  const auto links = connected_ranks(2, 20, off_t{1} << 48);  // longer than any address space, and without memory
  auto other = std::async(std::launch::async, [&] { return exchanged(*links[1], {1, 2}, {1, 1}); });
  const Outcome own = exchanged(*links[0], {3, 4}, {1, 1});
  CHECK(own.failed ==
        "an exchange between ranks cannot map 281474976710656 bytes of shared memory (Cannot allocate memory): raise "
        "the limit of its address space (ulimit -v), or use smaller batches");
  CHECK(own.failure == exchange::Failure::kLimit);
  CHECK(other.get().failed == own.failed);
}

TEST(connections_name_who_is_late_and_who_has_ended) {
  auto links = connected_ranks(3, 1.5);
  auto second = std::async(std::launch::async, [&] { return exchanged(*links[1], {1, 1, 1}, {1, 1, 1}); });
  const Outcome late = exchanged(*links[0], {1, 1, 1}, {1, 1, 1});
  CHECK(late.failed ==
        "rank 0 waited for longer than 1.5 s in an exchange for other ranks, which all run: one was late");
  CHECK(late.failure == exchange::Failure::kLate);
  second.get();
  CHECK(links[0]->missing(5).empty());
  CHECK(exchanged(*links[0], {1, 1, 1}, {1, 1, 1}, 1).failed == late.failed);  // nothing can be exchanged any more

  links = connected_ranks(3, 20);
  auto third = std::async(std::launch::async, [&] { return exchanged(*links[2], {1, 1, 1}, {1, 1, 1}); });
  auto ending = std::async(std::launch::async, [&] { return exchanged(*links[1], {1, 1, 1}, {1, 1, 1}); });
  // What a rank has sent before it ended is received.
  CHECK((exchanged(*links[0], {1, 2, 3}, {1, 1, 1}).values == Numbers{1, 1, 1}));
  ending.get();
  third.get();
  links[1].reset();
  const Outcome gone = exchanged(*links[0], {1, 1, 1}, {1, 1, 1});
  CHECK(gone.failed ==
        "rank 0 cannot finish an exchange with rank 1, which does not answer: the process has ended, or its connection "
        "is lost");
  CHECK(gone.failure == exchange::Failure::kGone);
  CHECK((links[0]->missing(5) == std::vector<std::size_t>{1}));
}

TEST(connections_that_are_closed_let_what_waits_fail) {
  const auto links = connected_ranks(2, 20);
  auto waiting = std::async(std::launch::async, [&] { return exchanged(*links[0], {1, 1}, {1, 1}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  links[0]->close();
  CHECK(waiting.get().failed == "rank 0 is no longer connected with the others");
  CHECK(exchanged(*links[0], {1, 1}, {1, 1}).failed == "rank 0 is no longer connected with the others");
}

}  // namespace
