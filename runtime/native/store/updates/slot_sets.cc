#include "store/updates/slot_sets.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "store/errors.h"

namespace recmigrate {
namespace {

constexpr unsigned kRuleBits = 5;
constexpr unsigned kSetBits = 8;
constexpr std::size_t kPiece = 64;     // columns that are copied at once
constexpr std::size_t kTogether = 16;  // rows that are copied at once, to the stack

std::uint64_t bits_of(OptimizerKind kind) noexcept { return static_cast<std::uint64_t>(kind); }

// The members that a kind names; empty if it is not such a kind.
std::vector<Member> members_of(OptimizerKind kind) {
  std::vector<Member> members;
  std::size_t slots = 0;
  for (std::uint64_t rest = bits_of(kind); rest != 0; rest >>= kSetBits) {
    const auto own = static_cast<OptimizerKind>(rest & ((1U << kRuleBits) - 1));
    const std::int64_t set = static_cast<std::int64_t>(rest >> kRuleBits & kMostSetNumber);
    const Rule& rule = rule_of(own);
    const bool twice = std::any_of(members.begin(), members.end(), [set](const Member& one) { return one.set == set; });
    if (own == OptimizerKind::none || rule.kind != own || twice || members.size() == kMostSets) return {};
    members.push_back({&rule, set, slots});
    slots += rule.slots;
  }
  const bool whole_rows = std::any_of(members.begin(), members.end(),
                                      [](const Member& one) { return one.rule->kind == OptimizerKind::group_ftrl; });
  return slots > kMaxSlots || whole_rows ? std::vector<Member>{} : members;
}

const Member* find_member(const Rule& rule, const Update& update) noexcept {
  const auto found = std::find_if(rule.members.begin(), rule.members.end(), [&](const Member& one) {
    return one.set == update.set && one.rule->kind == update.kind;
  });
  return found == rule.members.end() ? nullptr : &*found;
}

// Rules find a row's slots behind its value, so those of a member that come later are copied there and back. `step`
// gets rows, their gradients and the place of these among all.
template <typename Step>
void with_copies(const Member& member, float* const* rows, std::size_t count, std::size_t dim,
                 const Step& step) noexcept {
  float copies[kTogether * kPiece * (1 + kMaxSlots)];
  float* own[kTogether];
  const std::size_t slots = member.rule->slots;
  for (std::size_t at = 0; at < dim; at += kPiece) {
    const std::size_t width = std::min(kPiece, dim - at);
    const std::size_t stride = width * (1 + slots);
    const std::size_t most = width == dim ? kTogether : 1;  // gradients of several rows lie side by side
    for (std::size_t first = 0; first < count; first += most) {
      const std::size_t some = std::min(most, count - first);
      const auto each = [&](const auto& copy) {
        for (std::size_t r = 0; r < some; ++r) {
          float* const row = rows[first + r] + at;
          copy(own[r] = copies + r * stride, row);
          for (std::size_t s = 0; s < slots; ++s) {
            copy(own[r] + (1 + s) * width, row + (1 + member.slots_before + s) * dim);
          }
        }
      };
      each([width](float* copy, const float* from) { std::copy_n(from, width, copy); });
      step(own, first * dim + at, some, width);
      each([width](const float* copy, float* to) { std::copy_n(copy, width, to); });
    }
  }
}

}  // namespace

OptimizerKind kind_of_set(OptimizerKind rule, std::int64_t set) noexcept {
  return static_cast<OptimizerKind>(bits_of(rule) | static_cast<std::uint64_t>(set) << kRuleBits);
}

const Rule* joint_rule(OptimizerKind kind) {
  if (bits_of(kind) >> kRuleBits == 0) return nullptr;  // of a single rule, which `members_of` asks for
  struct Joint {
    std::string name;
    Rule rule;
  };
  static std::mutex mutex;
  static auto* const known = new std::map<OptimizerKind, Joint>;  // never destroyed: threads may outlive it
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = known->find(kind);
  if (found != known->end()) return &found->second.rule;
  std::vector<Member> members = members_of(kind);
  if (members.empty()) return nullptr;
  std::string name;
  std::size_t hyper = 0;
  for (const Member& one : members) {
    name += (name.empty() ? "" : "+") + std::string(one.rule->name);
    hyper = std::max(hyper, one.rule->hyper.size());
  }
  const std::size_t slots = members.back().slots_before + members.back().rule->slots;
  std::vector<const char*> numbers(1 + hyper, "of a member");
  Joint& joint = (*known)[kind];
  joint.name = std::move(name);
  joint.rule = {kind, joint.name.c_str(), slots, std::move(numbers), nullptr, nullptr, false, std::move(members)};
  return &joint.rule;
}

SlotSets with_set(const SlotSets& present, const Update& update, const std::string& name) {
  const SlotSets alone{kind_of_set(update.kind, update.set), update.starts};
  if (present.kind == OptimizerKind::none) return alone;
  std::size_t before = slots_before(present.kind, update);
  SlotSets all = present;
  if (before == kNoSet) {
    const Rule& rule = rule_of(present.kind);
    const std::vector<Member> plain{{&rule, 0, 0}};
    const std::vector<Member>& members = rule.members.empty() ? plain : rule.members;
    if (std::any_of(members.begin(), members.end(), [&](const Member& one) { return one.set == update.set; })) {
      return alone;
    }
    before = rule.slots;
    const std::uint64_t own = bits_of(alone.kind) << (members.size() * kSetBits);
    all.kind = members.size() < kMostSets ? static_cast<OptimizerKind>(bits_of(present.kind) | own) : present.kind;
    if (all.kind == present.kind || joint_rule(all.kind) == nullptr) {
      fail_invalid("table '" + name + "' has the slots of " + rule.name + ", and those of another optimizer, " +
                   optimizer_name(update.kind) + ", do not fit beside them: a row has at most " +
                   std::to_string(kMaxSlots) + " slots of " + std::to_string(kMostSets) +
                   " optimizers, without group_ftrl; train the table with fewer optimizers");
    }
  }
  std::copy_n(update.starts.begin(), slot_count(update.kind), all.starts.begin() + static_cast<std::ptrdiff_t>(before));
  return all;
}

bool extends(OptimizerKind kind, OptimizerKind present) noexcept {
  std::uint64_t more = bits_of(kind);
  std::uint64_t rest = bits_of(present);
  for (; rest != 0; rest >>= kSetBits, more >>= kSetBits) {
    if ((rest & 0xff) != (more & 0xff)) return false;
  }
  return more != 0 && present != OptimizerKind::none;
}

std::size_t slots_before(OptimizerKind kind, const Update& update) noexcept {
  if (kind == update.kind) return update.set == 0 ? 0 : kNoSet;
  const Member* const member = find_member(rule_of(kind), update);
  return member == nullptr ? kNoSet : member->slots_before;
}

void apply_set(OptimizerKind kind, const Update& update, float* const* rows, const float* grads, const float* squares,
               std::size_t count, std::size_t dim) noexcept {
  if (kind == update.kind) return apply_update(update, rows, grads, squares, count, dim);
  const Member& member = *find_member(rule_of(kind), update);
  if (member.slots_before == 0) return apply_update(update, rows, grads, squares, count, dim);
  with_copies(member, rows, count, dim, [&](float* const* own, std::size_t at, std::size_t some, std::size_t width) {
    apply_update(update, own, grads + at, squares == nullptr ? nullptr : squares + at, some, width);
  });
}

void write_step(const Rule& rule, const Update& update, float* numbers) noexcept {
  if (rule.members.empty()) {
    std::copy_n(update.hyper.data(), rule.hyper.size(), numbers);
    return;
  }
  numbers[0] = static_cast<float>(find_member(rule, update) - rule.members.data());
  std::copy_n(update.hyper.data(), rule.hyper.size() - 1, numbers + 1);
}

void apply_step(const Rule& rule, const float* numbers, float* const* rows, const float* grads, std::size_t count,
                std::size_t dim) noexcept {
  if (rule.members.empty()) return rule.apply(numbers, rows, grads, count, dim);
  const Member& member = rule.members[static_cast<std::size_t>(numbers[0])];
  if (member.slots_before == 0) return member.rule->apply(numbers + 1, rows, grads, count, dim);
  with_copies(member, rows, count, dim, [&](float* const* own, std::size_t at, std::size_t some, std::size_t width) {
    member.rule->apply(numbers + 1, own, grads + at, some, width);
  });
}

std::size_t place_of_slot(OptimizerKind kind, std::int64_t set, std::int64_t number) noexcept {
  const Rule& rule = rule_of(kind);
  const Member plain{&rule, 0, 0};
  const auto is_set = [set](const Member& one) { return one.set == set; };
  const auto found = std::find_if(rule.members.begin(), rule.members.end(), is_set);
  const bool alone = rule.members.empty() && set == 0;
  if (!alone && found == rule.members.end()) return kNoSet;
  const Member& own = alone ? plain : *found;
  const bool there = number >= 0 && static_cast<std::size_t>(number) < own.rule->slots;
  return there ? own.slots_before + static_cast<std::size_t>(number) : kNoSet;
}

}  // namespace recmigrate
