// RecExchange: a message to each rank of this machine and one from each; RecGather: the same message to all of them, so
// that all ranks receive the same. And the functions by which Python connects these ranks.
//
// An op must not hold its thread while it waits, or two ranks with one thread each could wait for each other's other
// exchange. TensorFlow's C interface has such ops, but hands out the address of its callback, which is destroyed when
// the op's function returns: the callback is moved from there. See Callback.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "ops/attributes.h"
#include "ops/kernel.h"
#include "ops/shapes.h"
#include "store/errors.h"
#include "store/exchange/connections.h"

namespace recmigrate::ops {
namespace {

using exchange::Connections;
using exchange::Part;

struct ExchangeKernel {
  explicit ExchangeKernel(TF_OpKernelConstruction* construction)
      : lane(static_cast<std::size_t>(int_attribute(construction, "lane"))) {
    if (lane >= exchange::kLanes) fail_invalid("there is no lane " + std::to_string(lane));
  }
  std::size_t lane;
};

TF_Code code_of(exchange::Failure failure) {
  switch (failure) {
    case exchange::Failure::kLate:
      return TF_DEADLINE_EXCEEDED;
    case exchange::Failure::kGone:
      return TF_UNAVAILABLE;
    case exchange::Failure::kLimit:
      return TF_RESOURCE_EXHAUSTED;
    default:
      return TF_INVALID_ARGUMENT;
  }
}

// TensorFlow's callback: a std::function<void()> of GNU's library in all its builds. Its layout is written out, because
// this library may be compiled with another one's std::function, as a wheel is with LLVM's.
class Callback {
 public:
  Callback() = default;
  explicit Callback(TF_AsyncOpKernelDoneCallback* given) : held_(*reinterpret_cast<Held*>(given)) {
    reinterpret_cast<Held*>(given)->manage = nullptr;  // empty: TensorFlow destroys nothing
  }
  Callback(Callback&& other) noexcept { std::swap(held_, other.held_); }
  Callback& operator=(Callback&& other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
  ~Callback() {
    if (*this) held_.manage(&held_.functor, &held_.functor, kDestroy);
  }
  explicit operator bool() const { return held_.manage != nullptr; }
  void operator()() const { held_.invoke(&held_.functor); }

 private:
  static constexpr int kDestroy = 3;  // of _Manager_operation, an enumeration without a type of its own
  struct Functor {
    void* words[2];
  };
  struct Held {
    Functor functor;
    bool (*manage)(Functor* to, const Functor* from, int operation);
    void (*invoke)(const Functor* functor);
  };
  Held held_{};
};

// One run of the op, from its begin to the call of its callback.
class Running : public exchange::Party {
 public:
  explicit Running(TF_OpKernelContext* context)
      : context_(context),
        values_(context, 1, "values"),
        counts_(context, 2, "counts"),
        columns_(context, 3, "columns") {}

  void end_with(Callback done) noexcept { done_ = std::move(done); }

  [[nodiscard]] exchange::Exchange asked(std::size_t lane, bool same, const Connections& links) {
    const std::size_t ranks = links.size();
    shape_ = values_.shape();
    if (shape_.empty()) fail_invalid("values are a scalar; they must have rows");
    columns_.require_rank(2);
    const std::int64_t columns = columns_.dim(1);
    columns_.require_shape({static_cast<std::int64_t>(ranks), columns});
    if (columns < 0 || columns > static_cast<std::int64_t>(exchange::kMostColumns)) {
      fail_invalid(std::to_string(columns) + " columns are too many for an exchange; the most are " +
                   std::to_string(exchange::kMostColumns));
    }
    width_ = TF_DataTypeSize(values_.type());
    for (std::size_t axis = 1; axis < shape_.size(); ++axis) width_ *= static_cast<std::size_t>(shape_[axis]);
    exchange::Exchange asked{lane,
                             static_cast<std::uint64_t>(values_.type()) << 48 |
                                 static_cast<std::uint64_t>(columns) << 40 | (same ? 1ULL << 39 : 0) | width_,
                             "rows of " + std::to_string(width_) + " bytes and type " + std::to_string(values_.type()) +
                                 (same ? ", the same for all" : ""),
                             static_cast<std::size_t>(columns),
                             {},
                             same,
                             this};
    std::int64_t at = 0;
    if (!same) counts_.require_shape({static_cast<std::int64_t>(ranks)});
    for (std::size_t to = 0; to < ranks; ++to) {
      const std::int64_t rows = same ? shape_[0] : counts_.data<std::int32_t>()[to];
      if (rows < 0 || rows > shape_[0] - at) {
        fail_invalid("rank " + std::to_string(to) + " is to get " + std::to_string(rows) + " of the last " +
                     std::to_string(shape_[0] - at) + " rows");
      }
      asked.parts.push_back({values_.data<char>() + static_cast<std::size_t>(at) * width_,
                             static_cast<std::size_t>(rows) * width_,
                             columns_.data<std::int32_t>() + to * asked.columns});
      if (!same) at += rows;
    }
    columns_count_ = asked.columns;
    return asked;
  }

  void take(const std::vector<Part>& parts) noexcept override {
    try {
      write(parts);
    } catch (...) {
      TF_OpKernelContext_Failure(context_, current_failure().get());
    }
  }

  void fail(exchange::Failure failure, const std::string& message) noexcept override {
    const StatusPtr status(TF_NewStatus());
    TF_SetStatus(status.get(), code_of(failure), message.c_str());
    TF_OpKernelContext_Failure(context_, status.get());
  }

  void done() noexcept override {
    const Callback done = std::move(done_);
    delete this;  // what it holds of the op's inputs ends before the op does
    done();
  }

 private:
  void write(const std::vector<Part>& parts) {
    std::size_t bytes = 0;
    for (const Part& part : parts) bytes += part.bytes;
    const std::size_t rows = width_ == 0 ? 0 : bytes / width_;
    shape_[0] = static_cast<std::int64_t>(rows);
    const TensorPtr received = allocate_output(context_, 0, values_.type(), TF_DataTypeSize(values_.type()), shape_);
    auto* to = writable<char>(received);
    const TensorPtr numbers =
        allocate_output(context_, 1, TF_INT32, sizeof(std::int32_t),
                        {static_cast<std::int64_t>(parts.size()), static_cast<std::int64_t>(columns_count_ + 1)});
    auto* number = writable<std::int32_t>(numbers);
    for (const Part& part : parts) {
      if (part.bytes != 0) std::memcpy(to, part.data, part.bytes);
      to += part.bytes;
      *number++ = static_cast<std::int32_t>(width_ == 0 ? 0 : part.bytes / width_);
      number = std::copy(part.columns, part.columns + columns_count_, number);
    }
  }

  TF_OpKernelContext* context_;
  Callback done_;
  Input values_;
  Input counts_;
  Input columns_;
  std::vector<std::int64_t> shape_;
  std::size_t width_ = 0;
  std::size_t columns_count_ = 0;
};

// `Same`: all rows go to every rank.
template <bool Same>
void begin(void* kernel, TF_OpKernelContext* context, TF_AsyncOpKernelDoneCallback* callback) noexcept {
  Callback done(callback);
  std::unique_ptr<Running> running;
  try {
    const std::shared_ptr<Connections> links = exchange::connected();
    if (links == nullptr) fail_invalid("the ranks of this machine are not connected: call runtime.ranks.start() first");
    running = std::make_unique<Running>(context);
    exchange::Exchange asked = running->asked(static_cast<const ExchangeKernel*>(kernel)->lane, Same, *links);
    running->end_with(std::move(done));
    links->exchange(std::move(asked));
    (void)running.release();  // its callback has deleted it, or will
  } catch (...) {
    TF_OpKernelContext_Failure(context, current_failure().get());
    if (done) {
      done();
    } else {
      running.release()->done();
    }
  }
}

std::vector<exchange::Peer> peers_of(int size, const int* sockets, const int* processes, const int* boxes) {
  std::vector<exchange::Peer> peers;
  for (int i = 0; i < size; ++i) {
    const int* const first = boxes + i * static_cast<int>(exchange::kBoxes);
    peers.push_back({sockets[i], processes[i], {first, first + exchange::kBoxes}});
  }
  return peers;
}

}  // namespace

void register_rank_ops() {
  for (const bool same : {false, true}) {
    register_async_op(
        {same ? "RecGather" : "RecExchange",
         {"order: resource", "values: T", "counts: int32", "columns: int32"},
         {"received: T", "numbers: int32"},
         {"T: {int32, int64, float, double}", "lane: int"},
         &unknown_shape},
        {&create_kernel<ExchangeKernel>, same ? &begin<true> : &begin<false>, &destroy_kernel<ExchangeKernel>});
  }
}

}  // namespace recmigrate::ops

// Connects the `size` ranks of a machine; `sockets`, `processes` and `boxes` are what Peer needs, in the order of the
// ranks. The files are taken over. Returns 0, or -1 if there is no memory or no thread for it.
extern "C" __attribute__((visibility("default"))) int recmigrate_connect_ranks(int rank, int size, double seconds,
                                                                               const int* sockets, const int* processes,
                                                                               const int* boxes) {
  try {
    recmigrate::exchange::connect(std::make_shared<recmigrate::exchange::Connections>(
        static_cast<std::size_t>(rank), seconds, recmigrate::ops::peers_of(size, sockets, processes, boxes)));
    return 0;
  } catch (...) {
    return -1;
  }
}

// Lets exchanges that wait fail, and ends the connections.
extern "C" __attribute__((visibility("default"))) void recmigrate_disconnect_ranks() {
  recmigrate::exchange::connect(nullptr);
}

// Writes 1 for each rank that is missing, else 0; see Connections::missing.
extern "C" __attribute__((visibility("default"))) void recmigrate_missing_ranks(double seconds, int* missing) {
  const auto links = recmigrate::exchange::connected();
  if (links == nullptr) return;
  std::fill(missing, missing + links->size(), 0);
  for (const std::size_t one : links->missing(seconds)) missing[one] = 1;
}
