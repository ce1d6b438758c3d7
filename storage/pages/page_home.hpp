// PageHome: the pages of one home: the directory of who has them, and the file that has the rest; and PageErrors: what
// is told of those that can't be had.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/task.hpp"
#include "storage/pages/cache_tasks.hpp"
#include "storage/pages/page_sender.hpp"
#include "storage/pages/segment_caches.hpp"
#include "storage/protocol/coherence_message.hpp"
#include "storage/protocol/protocol.hpp"
#include "storage/store/page_store.hpp"

namespace coracle::internals {
class Error;
}

namespace coracle::internals::storage {

/// Belongs to the controller of its node's (or rank's) cache, and is used by that rank's thread.
class PageHome {
 public:
  /// What it refers to must outlive it. `tasks`: of the cache beside it.
  PageHome(const SegmentCaches& caches, const CacheTasks& tasks, std::unique_ptr<PageStore> store, bool cooperative);
  ~PageHome();
  PageHome(const PageHome&) = delete;
  PageHome& operator=(const PageHome&) = delete;

  PageStore& store() noexcept { return *store_; }
  PageBuffers& buffers() noexcept { return buffers_; }

  // --- the directory, which sends nothing: the caller does what it says, then recycles that ---
  /// What the directory knows of a page; null: nobody has it.
  const HomePage* known(std::uint64_t page) const noexcept;
  /// Where a cache that waits for data of a page wants them, or has those that it puts.
  std::uint32_t frame_of(std::uint64_t page, CacheId requester);
  /// A request or an answer.
  HomeActions receive(const CoherenceMessage& coherence_message);
  HomeActions was_read(std::uint64_t page, PageFailure failure);
  HomeActions was_written(std::uint64_t page, PageFailure failure);
  using ActionsOfPages = std::vector<std::pair<std::uint64_t, HomeActions>>;
  /// That cache is no more.
  ActionsOfPages dead(CacheId node);
  /// Tells all caches but its own that wait for a page that nothing will come.
  ActionsOfPages refuse_all();
  void recycle(HomeActions actions) noexcept { spare_ = std::move(actions); }
  /// Returns when the SSD has what the page's owner had when it was called, if it had an owner. `recall(node)`: asks a
  /// cache to write the page home soon.
  Task<> settle(std::uint64_t page, std::function<void(CacheId)> recall);

  // --- the file ---
  Task<PageFailure> read(std::uint64_t page, std::byte* target);
  Task<PageFailure> write(std::uint64_t page, const std::byte* source);
  /// What was written before is durable when it returns.
  Task<> flush();
  /// As the store's, while reads and writes wait.
  Task<> checkpoint(std::string name, std::uint64_t epoch);
  /// Of a read or a write that could not be done.
  PageFailure note_failure(const Error& error);
  /// Of the latest, for the words of an error; "" when there was none.
  const std::string& last_failure() const noexcept { return last_failure_; }

 private:
  struct Entry {
    explicit Entry(bool cooperative) : page(cooperative) {}
    HomePage page;
    std::vector<std::pair<CacheId, std::uint32_t>> frames;  // of those who wait for data, where they want them
    std::uint32_t puts = 0;
    std::uint32_t failed_puts = 0;
    std::uint32_t settling = 0;
  };

  Entry& entry(std::uint64_t page);
  void forget_if_idle(std::uint64_t page);
  HomeActions no_actions() noexcept;
  void transfer_ended() noexcept;

  const SegmentCaches& caches_;
  const CacheTasks& tasks_;
  std::unique_ptr<PageStore> store_;
  PageBuffers buffers_;
  std::unordered_map<std::uint64_t, Entry> entries_;
  HomeActions spare_;  // so that messages need no allocation
  std::string last_failure_;
  std::error_code last_code_;
  std::size_t transfers_ = 0;  // of the file, under way
  bool checkpointing_ = false;
  Event gate_;  // a transfer, or a checkpoint, has ended: set and reset
  bool cooperative_;
};

Error closed_error();

/// What is told of pages of one segment that can't be had or written.
class PageErrors {
 public:
  /// `home`: that beside this cache, or null.
  PageErrors(const SegmentCaches& caches, std::string path, const PageHome* home)
      : caches_(caches), path_(std::move(path)), home_(home) {}

  Error of(std::uint64_t page, PageFailure failure) const;
  Error home_lost(std::uint64_t page) const;

 private:
  const SegmentCaches& caches_;
  std::string path_;
  const PageHome* home_;
};

}  // namespace coracle::internals::storage
