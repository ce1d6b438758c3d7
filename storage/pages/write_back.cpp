#include "storage/pages/write_back.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "storage/pages/page_errors.hpp"

namespace coracle::internals::storage {

/// A put that began before says nothing of the room that there is now: its failure is not told, the page is tried
/// again.
Task<> WriteBack::wait_for_room() {
  const std::uint64_t begun = dirty_.begun();
  while (dirty_.full() && !tasks_.stopped()) {
    coherence_.put_oldest(dirty_.wanted(), DirtyPages::Told::somebody);
    if (dirty_.under_way() == 0) co_return;  // all are pinned by writers, or on their way elsewhere
    co_await tasks_.changed();
    if (dirty_.failed_after(begun)) throw Error(dirty_.failure());
  }
}

Task<> WriteBack::clean_all() {
  struct Dirty {
    std::uint64_t page;
    std::uint32_t successes;
  };
  std::vector<Dirty> dirty;
  for (std::uint32_t frame = 0; frame < pool_.size(); ++frame)
    if (pool_.at(frame).placed && dirty_.dirty(frame))
      dirty.push_back({pool_.at(frame).number, dirty_.successes(frame)});
  const std::uint64_t begun = dirty_.begun();  // as in wait_for_room()
  {
    const UnpinsWanted wanted(pool_.frames());  // writers' pins are waited for
    while (!dirty.empty() && !dirty_.failed_after(begun) && !tasks_.stopped()) {
      std::erase_if(dirty, [this](const Dirty& each) {
        const std::uint32_t frame = pool_.frames().find(each.page);
        return frame == Frames::kNone || !dirty_.dirty(frame) || dirty_.successes(frame) != each.successes;
      });
      for (const Dirty& each : dirty) {
        if (!dirty_.may_begin()) break;
        coherence_.begin_put(pool_.frames().find(each.page));
      }
      coherence_.hear_home();
      if (!dirty.empty() && !dirty_.failed_after(begun)) co_await tasks_.changed();
    }
    co_await dirty_.ended();
  }
  if (tasks_.stopped()) throw closed_error();
  if (dirty_.failed_after(begun)) throw Error(dirty_.failure());
  if (const std::optional<Error> lost = std::exchange(dirty_.unflushed().lost, std::nullopt)) throw Error(*lost);
}

void WriteBack::recall(std::uint64_t page) {
  const std::uint32_t frame = pool_.frames().find(page);
  if (frame != Frames::kNone) coherence_.begin_put(frame);
  coherence_.hear_home();
}

}  // namespace coracle::internals::storage
