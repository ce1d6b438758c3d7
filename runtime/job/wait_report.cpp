// Walking the waits of a loop inside a signal handler.
#include "runtime/job/wait_report.hpp"

#include <cstring>

#include "runtime/core/scope.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals {
namespace {

void add_place(SignalText& text, const std::source_location& where) {
  if (where.line() == 0) {
    text.add("an unknown place");
  } else {
    text.add("{}:{}", file_name_of(where.file_name()), where.line());
  }
}

/// True for the runtime's own coroutine around the user's first one.
bool is_of_the_loop(const std::source_location& where) {
  return std::strcmp(file_name_of(where.file_name()), "event_loop.cpp") == 0;
}

/// "    in app.cpp:40 <- main task": where each coroutine is awaited by the next outer one.
void add_callers(SignalText& text, const PromiseBase* coroutine, int depth) {
  text.add("    in ");
  bool main_task = false;
  for (; coroutine->parent() != nullptr; coroutine = coroutine->parent()) {
    main_task = is_of_the_loop(coroutine->awaited_at());
    if (main_task) break;
    add_place(text, coroutine->awaited_at());
    text.add(" <- ");
  }
  if (main_task) {
    text.add("main task\n");
  } else if (depth == 0) {
    text.add("a task beside the main task\n");
  } else {
    text.add("a task spawned in a scope{}\n", depth > 1 ? " within a scope" : "");
  }
}

class Details final : public WaiterVisitor {
 public:
  Details(SignalText& text, std::uint64_t now_ns, std::size_t details_max) noexcept
      : text_(text), now_ns_(now_ns), left_(details_max) {}

  void visit(const Waiter& waiter, int depth) noexcept override {
    if (left_ == 0) return;
    --left_;
    text_.add("  {}", waiter.what());
    if (waiter.peer() >= 0) text_.add(" from rank {}", waiter.peer());
    const std::uint64_t waited_ms = (now_ns_ - std::min(waiter.since_ns(), now_ns_)) / 1'000'000;
    text_.add(", for {}.{:03} s, at ", waited_ms / 1000, waited_ms % 1000);
    add_place(text_, waiter.where());
    text_.add("\n");
    if (waiter.coroutine() != nullptr) add_callers(text_, waiter.coroutine(), depth);
  }

 private:
  SignalText& text_;
  std::uint64_t now_ns_;
  std::size_t left_;
};

class Counter final : public WaiterVisitor {
 public:
  void visit(const Waiter&, int) noexcept override { ++count; }
  std::size_t count = 0;
};

}  // namespace

std::size_t add_wait_report(SignalText& text, int rank, EventLoop& loop, std::size_t details_max) noexcept {
  Counter counter;
  loop.root_scope().visit(counter);
  text.add("rank {}: {} wait{}\n", rank, counter.count, counter.count == 1 ? "" : "s");
  Details details(text, loop.exact_now_ns(), details_max);
  loop.root_scope().visit(details);
  if (counter.count > details_max) text.add("  ... and {} more\n", counter.count - details_max);
  return counter.count;
}

struct GroupingVisitor final : public WaiterVisitor {
  explicit GroupingVisitor(WaitGroups& groups_to_fill) noexcept : groups(groups_to_fill) {}

  void visit(const Waiter& waiter, int) noexcept override {
    const std::source_location& where = waiter.where();
    for (std::size_t i = 0; i < groups.size_; ++i) {
      WaitGroups::Group& group = groups.groups_[i];
      if (group.line == where.line() && std::strcmp(group.what, waiter.what()) == 0 &&
          std::strcmp(group.file, where.file_name()) == 0) {
        ++group.count;
        return;
      }
    }
    if (groups.size_ == WaitGroups::kGroupsMax) {
      ++groups.others_;
      return;
    }
    groups.groups_[groups.size_++] = {waiter.what(), where.file_name(), where.line(), 1};
  }

  WaitGroups& groups;
};

void WaitGroups::count(EventLoop& loop) noexcept {
  GroupingVisitor visitor(*this);
  loop.root_scope().visit(visitor);
}

void WaitGroups::add_to(SignalText& text) const {
  for (std::size_t i = 0; i < size_; ++i) {
    const Group& group = groups_[i];
    text.add("  {} x {} at {}:{}\n", group.count, group.what, file_name_of(group.file), group.line);
  }
  if (others_ != 0) text.add("  {} others\n", others_);
}

}  // namespace coracle::internals
