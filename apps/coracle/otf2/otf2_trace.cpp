// Rows first, each a location with a file of its own; then what they are.
#include "apps/coracle/otf2/otf2_trace.hpp"

#include <fmt/format.h>
#include <otf2/otf2.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "apps/coracle/otf2/definitions.hpp"
#include "apps/coracle/otf2/rank_rows.hpp"
#include "apps/coracle/otf2/trace_folder.hpp"
#include "runtime/core/error.hpp"
#include "runtime/insight/trace_lanes.hpp"
#include "runtime/insight/trace_words.hpp"

namespace coracle::internals {
namespace {

/// While it is there, what the library complains of is not written to standard error in the library's own form: the
/// first complaint is the cause of the others.
class Complaints {
 public:
  Complaints() { OTF2_Error_RegisterCallback(&take, this); }
  ~Complaints() { OTF2_Error_RegisterCallback(nullptr, nullptr); }
  Complaints(const Complaints&) = delete;
  Complaints& operator=(const Complaints&) = delete;

  /// Why something has failed; `otherwise` where the library has said nothing.
  std::string cause(const std::string& otherwise) const {
    return first_ == OTF2_SUCCESS ? otherwise : OTF2_Error_GetDescription(first_);
  }

 private:
  static OTF2_ErrorCode take(void* self, const char*, std::uint64_t, const char*, OTF2_ErrorCode code, const char*,
                             va_list) {
    OTF2_ErrorCode& first = static_cast<Complaints*>(self)->first_;
    if (first == OTF2_SUCCESS) first = code;
    return code;
  }

  OTF2_ErrorCode first_ = OTF2_SUCCESS;
};

OTF2_FlushType flush_always(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}

struct CloseArchive {
  void operator()(OTF2_Archive* archive) const noexcept { OTF2_Archive_Close(archive); }
};
using Archive = std::unique_ptr<OTF2_Archive, CloseArchive>;

Archive open_archive(const std::string& folder) {
  constexpr std::uint64_t kEventBytes = 1 << 20;
  constexpr std::uint64_t kDefinitionBytes = 4 << 20;
  Archive archive(OTF2_Archive_Open(folder.c_str(), kArchiveName, OTF2_FILEMODE_WRITE, kEventBytes, kDefinitionBytes,
                                    OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE));
  if (!archive) throw Error(Errc::unsupported, "OTF2 can't make its files there");
  static const OTF2_FlushCallbacks flush{flush_always, nullptr};
  must(OTF2_Archive_SetFlushCallbacks(archive.get(), &flush, nullptr));
  must(OTF2_Archive_SetSerialCollectiveCallbacks(archive.get()));
  must(OTF2_Archive_SetCreator(archive.get(), kArchiveCreator));
  return archive;
}

/// Attributes of one event; the library empties them when it has written that.
class Attributes {
 public:
  explicit Attributes(Otf2Definitions& definitions) : definitions_(definitions), list_(OTF2_AttributeList_New()) {}

  OTF2_AttributeList* of(const TraceSpan& span) {
    for (const TraceArgument& argument : arguments_of(span)) {
      const std::uint64_t value = std::visit([](auto any) { return std::uint64_t{any}; }, argument.value);
      must(OTF2_AttributeList_AddUint64(list_.get(), definitions_.attribute(argument.name), value));
    }
    return list_.get();
  }

 private:
  struct Delete {
    void operator()(OTF2_AttributeList* list) const noexcept { OTF2_AttributeList_Delete(list); }
  };
  Otf2Definitions& definitions_;
  std::unique_ptr<OTF2_AttributeList, Delete> list_;
};

/// By rank. Of those that have left nothing, or whose node is lost, empty ones: the number of a rank is that of its
/// place.
std::vector<RankEvents> all_ranks(std::vector<RankEvents> there) {
  std::uint32_t count = 0;
  for (const RankEvents& rank : there) {
    count = std::max(count, rank.rank + 1);
    for (const StoredEvent& event : rank.events)
      if (StoredEvent::is_message(event.kind)) count = std::max(count, event.peer + 1);
  }
  std::vector<RankEvents> ranks(count);
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    ranks[rank].rank = rank;
    ranks[rank].node = CORACLE_NOBODY;
  }
  for (RankEvents& rank : there) ranks[rank.rank] = std::move(rank);
  return ranks;
}

class Writer {
 public:
  Writer(OTF2_Archive* archive, JobTrace trace)
      : archive_(archive),
        is_virtual_(trace.is_virtual),
        dropped_(trace.dropped()),
        ranks_(all_ranks(std::move(trace.ranks))),
        definitions_(OTF2_Archive_GetGlobalDefWriter(archive)),
        attributes_(definitions_) {}

  void write() {
    set_properties();
    definitions_.set_clock(end_ns());
    must(OTF2_Archive_OpenEvtFiles(archive_));
    for (const RankEvents& rank : ranks_) write_rank(rank);
    must(OTF2_Archive_CloseEvtFiles(archive_));
    define_job();
  }

 private:
  std::uint64_t end_ns() const {
    std::uint64_t end = 0;
    for (const RankEvents& rank : ranks_)
      if (!rank.events.empty()) end = std::max(end, rank.events.back().ticks + 1);  // spans last for at least 1 ns
    return end;
  }

  void set_properties() {
    const std::string dropped = std::to_string(dropped_);
    const char* const time = is_virtual_ ? "virtual" : "real";
    const std::string text = fmt::format("{} time; {} events were dropped, for which there was no room", time, dropped);
    must(OTF2_Archive_SetDescription(archive_, text.c_str()));
    must(OTF2_Archive_SetProperty(archive_, "CORACLE::TIME", time, true));
    must(OTF2_Archive_SetProperty(archive_, "CORACLE::DROPPED", dropped.c_str(), true));
  }

  void write_rank(const RankEvents& rank) {
    std::vector<TraceSpan> spans = spans_of(rank);
    set_lanes(spans);
    bool is_first = true;
    for (const RankRow& row : rows_of(spans)) {
      const OTF2_LocationRef id = is_first ? rank.rank : ranks_.size() + later_rows_++;
      is_first = false;
      locations_.push_back({id, rank.rank, row.lane, row.events.size()});
      write_row(row, id, rank);
    }
  }

  void write_row(const RankRow& row, OTF2_LocationRef id, const RankEvents& rank) {
    OTF2_EvtWriter* const writer = OTF2_Archive_GetEvtWriter(archive_, id);
    if (writer == nullptr) throw Error(Errc::unsupported, fmt::format("OTF2 can't make a file for location {}", id));
    for (const RowEvent& event : row.events) write_event(event, rank, writer);
    must(OTF2_Archive_CloseEvtWriter(archive_, writer));
  }

  void write_event(const RowEvent& event, const RankEvents& rank, OTF2_EvtWriter* writer) {
    const TraceSpan& span = *event.span;
    const auto region = [this, &span, &rank] { return definitions_.region(span, rank); };
    if (event.what == RowEvent::What::enter)
      must(OTF2_EvtWriter_Enter(writer, attributes_.of(span), event.ns, region()));
    else if (event.what == RowEvent::What::leave)
      must(OTF2_EvtWriter_Leave(writer, nullptr, event.ns, region()));
    else
      write_message(event, writer);
  }

  void write_message(const RowEvent& event, OTF2_EvtWriter* writer) {
    const StoredEvent& message = event.span->begin;
    const auto write = message.kind == CORACLE_SEND_BEGIN ? OTF2_EvtWriter_MpiSend : OTF2_EvtWriter_MpiRecv;
    // The whole tag, of which OTF2 has the lower half, is an attribute.
    must(write(writer, attributes_.of(*event.span), event.ns, message.peer, Otf2Definitions::kWorld,
               static_cast<std::uint32_t>(message.tag), message.bytes));
  }

  void define_job() {
    definitions_.add_job();
    for (const RankEvents& rank : ranks_) definitions_.add_rank(rank.rank, rank.node, rank.dropped);
    std::ranges::sort(locations_, {}, &Otf2Location::id);
    for (const Otf2Location& location : locations_) definitions_.add_location(location);
    definitions_.add_world(static_cast<std::uint32_t>(ranks_.size()));
    write_local_definitions();
  }

  /// Readers want a file for each location, also where it has nothing to say.
  void write_local_definitions() {
    must(OTF2_Archive_OpenDefFiles(archive_));
    for (const Otf2Location& location : locations_) {
      OTF2_DefWriter* const writer = OTF2_Archive_GetDefWriter(archive_, location.id);
      must(OTF2_Archive_CloseDefWriter(archive_, writer));
    }
    must(OTF2_Archive_CloseDefFiles(archive_));
  }

  OTF2_Archive* archive_;
  bool is_virtual_;
  std::uint64_t dropped_;
  std::vector<RankEvents> ranks_;
  Otf2Definitions definitions_;
  Attributes attributes_;
  std::uint64_t later_rows_ = 0;
  std::vector<Otf2Location> locations_;
};

class Otf2Trace final : public TraceOutput {
 public:
  explicit Otf2Trace(const std::string& path) : folder_(path) {}

  std::string write(JobTrace trace) override {
    const Complaints complaints;
    try {
      folder_.clear();
      Archive archive = open_archive(folder_.path());
      Writer(archive.get(), std::move(trace)).write();
      must(OTF2_Archive_Close(archive.release()));
    } catch (const Error& error) {
      return complaints.cause(error.what());
    }
    return "";
  }

 private:
  TraceFolder folder_;
};

}  // namespace

std::unique_ptr<TraceOutput> open_otf2_trace(const std::string& path) {
  return std::make_unique<Otf2Trace>(path);
}

}  // namespace coracle::internals
