#include "store/exchange/connections.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "store/errors.h"
#include "store/exchange/connections_parts.h"

namespace recmigrate::exchange {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// The links of the process. Never destroyed: ops may run after static destruction.
struct Connected {
  std::mutex mutex;
  std::shared_ptr<Connections> links;
};

Connected& of_process() {
  static auto* const instance = new Connected;
  return *instance;
}

}  // namespace

std::shared_ptr<Connections> connected() {
  const std::lock_guard<std::mutex> lock(of_process().mutex);
  return of_process().links;
}

void connect(std::shared_ptr<Connections> links) {
  {
    const std::lock_guard<std::mutex> lock(of_process().mutex);
    std::swap(of_process().links, links);
  }
  if (links != nullptr) links->close();
}

void Connections::exchange(Exchange asked) {
  if (is_fork()) {
    fail_invalid("a process that rank " + std::to_string(rank_) +
                 " has forked cannot exchange rows in its place: call runtime.ranks.stop() in it, use tables in the "
                 "rank itself, or start the process by spawn");
  }
  Lock lock(mutex_);
  const std::size_t lane = asked.lane;
  lanes_[lane].waiting.push_back(std::move(asked));
  settle(lane, lock);
}

void Connections::begin(Lane& lane) {
  const Exchange& own = lane.waiting.front();
  const auto place = static_cast<std::size_t>(&lane - lanes_.data());
  ++lane.number;
  std::vector<std::size_t> starts(ranks_.size(), 0);
  std::size_t end = 0;
  for (std::size_t to = 0; to < ranks_.size(); ++to) {
    if (to == rank_) continue;
    starts[to] = own.same ? 0 : end;
    end = starts[to] + aligned(own.parts[to].bytes);
  }
  char* const at = end == 0 ? nullptr : ranks_[rank_].boxes[2 * place + lane.number % 2].to_write(end);
  bool written = false;
  for (std::size_t to = 0; to < ranks_.size(); ++to) {
    const Part& part = own.parts[to];
    if (to == rank_ || part.bytes == 0 || (own.same && written)) continue;
    std::memcpy(at + starts[to], part.data, part.bytes);
    written = true;
  }
  lane.begun = true;
  lane.since = Clock::now();
  for (std::size_t to = 0; to < ranks_.size(); ++to) {
    if (to == rank_) continue;
    const Part& part = own.parts[to];
    Frame frame{kMessage, static_cast<std::uint32_t>(place), lane.number, own.kind, starts[to], part.bytes, own.columns,
                {}};
    std::copy(part.columns, part.columns + own.columns, frame.columns);
    if (!send(to, frame)) ranks_[to].gone = true;
  }
}

bool Connections::is_fork() const noexcept { return getpid() != process_; }

std::vector<std::size_t> Connections::absent(const Lane& lane) const {
  std::vector<std::size_t> found;
  for (std::size_t from = 0; from < ranks_.size(); ++from) {
    if (from != rank_ && lane.arrived[lane.number % 2][from].number != lane.number) found.push_back(from);
  }
  return found;
}

void Connections::settle(std::size_t number, Lock& lock) noexcept {
  Lane& lane = lanes_[number];
  while (!lane.waiting.empty() && !lane.taking) {
    if (broken_) {
      lane.waiting.front().party->fail(failure_, message_);
      end_first(lane, lock);
      continue;
    }
    try {
      if (!lane.begun) begin(lane);
    } catch (const std::exception& error) {
      return break_off(Failure::kLimit, error.what(), lock);
    }
    std::vector<std::size_t> without = absent(lane);
    if (without.empty()) {
      take(number, lock);
      continue;
    }
    without.erase(std::remove_if(without.begin(), without.end(), [&](std::size_t one) { return !ranks_[one].gone; }),
                  without.end());
    if (without.empty()) return;
    return break_off(Failure::kGone,
                     "rank " + std::to_string(rank_) + " cannot finish an exchange with " + listed(without) +
                         ", which " + (without.size() == 1 ? "does" : "do") +
                         " not answer: the process has ended, or its connection is lost",
                     lock);
  }
}

std::vector<Part> Connections::brought(const Lane& lane, const Exchange& own) {
  const auto place = static_cast<std::size_t>(&lane - lanes_.data());
  std::vector<Part> parts = own.parts;
  for (std::size_t from = 0; from < ranks_.size(); ++from) {
    if (from == rank_) continue;
    const Frame& frame = lane.arrived[lane.number % 2][from];
    if (frame.kind != own.kind || frame.count != own.columns) {
      fail_invalid("all ranks must make the same exchanges in the same order: rank " + std::to_string(rank_) +
                   " exchanges " + own.text + ", but rank " + std::to_string(from) + " does not");
    }
    Mapping& box = ranks_[from].boxes[2 * place + lane.number % 2];
    const char* const at = frame.bytes == 0 ? nullptr : box.to_read(frame.start + frame.bytes) + frame.start;
    parts[from] = {at, frame.bytes, frame.columns};
  }
  return parts;
}

void Connections::take(std::size_t number, Lock& lock) noexcept {
  Lane& lane = lanes_[number];
  lane.taking = true;  // what it reads stays: no other message of this lane with the same last bit can come before
  const Exchange& own = lane.waiting.front();  // others may come behind it, which moves the queue but not this
  Party* const party = own.party;
  lock.unlock();
  try {
    party->take(brought(lane, own));
  } catch (const LimitReached& error) {
    party->fail(Failure::kLimit, error.what());
  } catch (const std::exception& error) {
    party->fail(Failure::kInvalid, error.what());
  }
  lock.lock();
  lane.taking = false;
  end_first(lane, lock);
}

void Connections::end_first(Lane& lane, Lock& lock) noexcept {
  Party* const party = lane.waiting.front().party;
  lane.waiting.pop_front();
  lane.begun = false;
  lock.unlock();
  party->done();
  lock.lock();
}

void Connections::break_off(Failure failure, const std::string& message, Lock& lock) noexcept {
  if (!broken_) {
    broken_ = true;
    failure_ = failure;
    message_ = message;
  }
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) settle(lane, lock);
}

}  // namespace recmigrate::exchange
