// Loading a tool, and telling all of them.
#include "runtime/insight/rank_tools.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "runtime/core/error.hpp"

namespace coracle::internals {

/// What tools see of the rank; they hand it back with their questions.
struct RankTools::Facts : coracle_rank_facts {
  TickSample start;
  bool by_processor = false;

  static std::uint64_t to_nanoseconds(const coracle_rank_facts* facts, std::uint64_t ticks) {
    const auto* rank = static_cast<const Facts*>(facts);
    if (!rank->by_processor) return ticks;
    return TickScale(rank->start, TickSample::take(true)).nanoseconds(ticks);
  }
};

RankTools::RankTools(const JobRegion& region, std::uint32_t rank, EventLoop& loop) : loop_(loop) {
  const char* const path = std::getenv("CORACLE_TOOL");
  const std::span<std::byte> trace = region.trace(rank);
  const std::span<std::byte> summary = region.summary(rank);
  const bool is_wanted = path != nullptr && path[0] != '\0';
  if (!is_wanted && trace.empty() && summary.empty()) return;
  const JobHeader& header = region.header();
  const bool is_virtual = header.shape.placement == Placement::sim;
  facts_ = std::make_unique<Facts>();
  static_cast<coracle_rank_facts&>(*facts_) = {
      CORACLE_TOOL_VERSION,  rank,   header.shape.size, region.node_of(rank), header.shape.nodes, is_virtual ? 1U : 0U,
      Facts::to_nanoseconds, nullptr};
  facts_->start = {header.start_ticks, header.start_ns};
  facts_->by_processor = !is_virtual && header.ticks_of_processor;
  if (!trace.empty()) {
    writer_ = std::make_unique<TraceWriter>(TraceMemory(trace));
    tools_.push_back(writer_->tool());
  }
  if (!summary.empty()) {
    summary_ = std::make_unique<SummaryWriter>(SummaryMemory(summary));
    tools_.push_back(summary_->tool());
  }
  if (is_wanted) load(path);
  coracle_tool all{};
  all.self = this;
  all.event = tell_all;
  events_ = std::make_unique<Events>(tools_.size() == 1 ? tools_.front() : all, is_virtual ? &loop.clock() : nullptr,
                                     facts_->by_processor);
  loop_.set_events(events_.get());
  events_->tell(CORACLE_RANK_BEGIN);
}

RankTools::~RankTools() {
  if (!events_) return;
  events_->tell(CORACLE_RANK_END);
  loop_.set_events(nullptr);
  for (const coracle_tool& tool : tools_)
    if (tool.close != nullptr) tool.close(tool.self);
}

void RankTools::load(const std::string& path) {
  const auto refuse = [&path](const std::string& why) {
    return Error(Errc::bad_input, fmt::format("CORACLE_TOOL={}: {}", path, why));
  };
  // It stays loaded: threads of its own may still be in it.
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw refuse(fmt::format("the tool can't be loaded: {}", ::dlerror()));
  const auto open = reinterpret_cast<decltype(&coracle_tool_open)>(::dlsym(library, "coracle_tool_open"));
  if (open == nullptr)
    throw refuse("it has no function coracle_tool_open, with which a tool begins (see <coracle_tool.h>)");
  coracle_tool tool{};
  const int status = open(facts_.get(), &tool);
  if (status != 0) throw refuse(fmt::format("the tool refuses: its coracle_tool_open gives {}", status));
  if (tool.version != CORACLE_TOOL_VERSION)
    throw refuse(
        fmt::format("it was compiled for version {} of the tools' interface, and this library has version {}; "
                    "compile it with this library's <coracle_tool.h>, and have it set coracle_tool.version",
                    tool.version, CORACLE_TOOL_VERSION));
  if (tool.event == nullptr) throw refuse("its coracle_tool_open has set no function for events");
  tools_.push_back(tool);
}

void RankTools::tell_all(void* self, const coracle_event* event) {
  for (const coracle_tool& tool : static_cast<RankTools*>(self)->tools_) tool.event(tool.self, event);
}

}  // namespace coracle::internals
