// The thread of the links: it hears what comes from the others, and sees who is late or gone.
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "store/exchange/connections.h"
#include "store/exchange/connections_parts.h"

namespace recmigrate::exchange {
namespace {

constexpr double kAskSeconds = 2.0;  // how long a rank has to answer whether it is there
constexpr std::size_t kNamed = 8;    // how many ranks an error names
constexpr int kPollMilliseconds = 1000;
constexpr double kMostSeconds = 1e9;  // which a time in nanoseconds can have

std::chrono::steady_clock::duration duration(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

std::string shortest(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace

std::string listed(const std::vector<std::size_t>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), kNamed); ++i) {
    text += (i == 0 ? "rank " : ", rank ") + std::to_string(ranks[i]);
  }
  if (ranks.size() > kNamed) text += " and " + std::to_string(ranks.size() - kNamed) + " more";
  return text;
}

Connections::Rank::Rank(const Peer& peer) : socket(peer.socket), process(peer.process) {
  for (const int box : peer.boxes) boxes.emplace_back(box);
}

Connections::Connections(std::size_t rank, double seconds, const std::vector<Peer>& peers)
    : rank_(rank),
      seconds_(std::min(seconds, kMostSeconds)),
      process_(getpid()),
      lanes_(kLanes),
      stop_(eventfd(0, EFD_CLOEXEC)) {
  ranks_.reserve(peers.size());
  for (const Peer& peer : peers) ranks_.emplace_back(peer);
  for (Lane& lane : lanes_) {
    for (std::vector<Frame>& arrived : lane.arrived) arrived.resize(peers.size());
  }
  for (const Rank& one : ranks_) polled_.push_back({one.socket.number(), POLLIN, 0});
  for (const Rank& one : ranks_) polled_.push_back({one.process.number(), POLLIN, 0});
  polled_.push_back({stop_.number(), POLLIN, 0});
  thread_ = std::thread([this] { run(); });
}

Connections::~Connections() { close(); }

void Connections::close() noexcept {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  if (write(stop_.number(), &one, sizeof one) != sizeof one) return;  // it is 8 bytes, which always fit
  thread_.join();
  Lock lock(mutex_);
  break_off(Failure::kGone, "rank " + std::to_string(rank_) + " is no longer connected with the others", lock);
}

void Connections::run() noexcept {
  const std::size_t ranks = ranks_.size();
  const int most = std::min(kPollMilliseconds, static_cast<int>(std::min(seconds_, 1e3) * 1000 / 8) + 1);
  while (polled_.back().revents == 0) {
    if (poll(polled_.data(), polled_.size(), most) < 0) continue;
    Lock lock(mutex_);
    for (std::size_t from = 0; from < ranks; ++from) {
      const bool ended = polled_[ranks + from].revents != 0;
      if (polled_[from].revents != 0 || ended) receive(from);
      if (ended) ranks_[from].gone = true;
      if (ranks_[from].gone) polled_[from].fd = polled_[ranks + from].fd = -1;
    }
    heard_.notify_all();
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) settle(lane, lock);
    check_times(lock);
  }
}

void Connections::receive(std::size_t from) noexcept {
  Rank& rank = ranks_[from];
  while (!rank.gone) {
    Frame frame;
    const ssize_t size = recv(rank.socket.number(), &frame, sizeof frame, MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size == static_cast<ssize_t>(sizeof frame)) note(from, frame);
    else rank.gone = true;
  }
}

void Connections::note(std::size_t from, const Frame& frame) noexcept {
  Rank& rank = ranks_[from];
  if (frame.sort == kQuestion) {
    Frame answer{};
    answer.sort = kAnswer;
    answer.number = frame.number;
    if (!send(from, answer)) rank.gone = true;
  } else if (frame.sort == kAnswer) {
    rank.answered = std::max(rank.answered, frame.number);
  } else if (frame.sort == kMessage && frame.lane < lanes_.size() && frame.count <= kMostColumns) {
    lanes_[frame.lane].arrived[frame.number % 2][from] = frame;
  } else {
    rank.gone = true;  // it is no rank of this library's version
  }
}

bool Connections::send(std::size_t to, const Frame& frame) noexcept {
  for (;;) {
    const ssize_t sent = ::send(ranks_[to].socket.number(), &frame, sizeof frame, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return true;
    if (errno != EINTR) return errno == EAGAIN && frame.sort != kMessage;  // a question more, to who does not read
  }
}

std::uint64_t Connections::ask(const std::vector<std::size_t>& whom) noexcept {
  Frame frame{};
  frame.sort = kQuestion;
  frame.number = ++questions_;
  for (const std::size_t one : whom) {
    if (!send(one, frame)) ranks_[one].gone = true;
  }
  return questions_;
}

bool Connections::answered(const std::vector<std::size_t>& whom, std::uint64_t question) noexcept {
  return std::all_of(whom.begin(), whom.end(),
                     [&](std::size_t one) { return ranks_[one].gone || ranks_[one].answered >= question; });
}

std::vector<std::size_t> Connections::missing(double seconds) {
  if (is_fork()) return {};  // answers come to the rank
  Lock lock(mutex_);
  std::vector<std::size_t> whom;
  for (std::size_t one = 0; one < ranks_.size(); ++one) {
    if (one != rank_ && !ranks_[one].gone && !ranks_[one].silent) whom.push_back(one);
  }
  const std::uint64_t question = ask(whom);
  heard_.wait_for(lock, duration(std::min(seconds, kMostSeconds)), [&] { return answered(whom, question); });
  for (const std::size_t one : whom) ranks_[one].silent = ranks_[one].answered < question;
  std::vector<std::size_t> found;
  for (std::size_t one = 0; one < ranks_.size(); ++one) {
    if (ranks_[one].gone || ranks_[one].silent) found.push_back(one);
  }
  return found;
}

void Connections::check_times(Lock& lock) noexcept {
  const auto now = Clock::now();
  for (std::size_t i = 0; i < lanes_.size() && late_.lane == kLanes; ++i) {
    Lane& lane = lanes_[i];
    if (!lane.begun || lane.taking || now - lane.since < duration(seconds_)) continue;
    late_ = {i, lane.number, ask(absent(lane)), now + duration(std::min(kAskSeconds, seconds_))};
  }
  if (late_.lane == kLanes) return;
  const Late late = late_;
  const Lane& lane = lanes_[late.lane];
  std::vector<std::size_t> whom = absent(lane);
  const bool over = !lane.begun || lane.taking || lane.number != late.number || whom.empty();
  if (!over && now < late.until && !answered(whom, late.question)) return;
  late_ = {};
  if (over) return;
  for (const std::size_t one : whom) ranks_[one].silent = ranks_[one].answered < late.question;
  whom.erase(std::remove_if(whom.begin(), whom.end(),
                            [&](std::size_t one) { return !ranks_[one].gone && !ranks_[one].silent; }),
             whom.end());
  const std::string those = whom.empty()
                                ? "other ranks, which all run: one was late"
                                : listed(whom) + ", which " + (whom.size() == 1 ? "does" : "do") + " not answer";
  break_off(Failure::kLate,
            "rank " + std::to_string(rank_) + " waited for longer than " + shortest(seconds_) +
                " s in an exchange for " + those,
            lock);
}

}  // namespace recmigrate::exchange
