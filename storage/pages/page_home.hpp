// PageHome: the pages of one home: the directory of who has them, and the file that has the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/core/task.hpp"
#include "storage/pages/page_buffers.hpp"
#include "storage/pages/segment_caches.hpp"
#include "storage/protocol/coherence_message.hpp"
#include "storage/protocol/own_messages.hpp"
#include "storage/store/page_store.hpp"

namespace coracle::internals {
class Error;
}

namespace coracle::internals::storage {

/// Belongs to the controller of its node's (or rank's) cache, and is used by that rank's thread.
class PageHome {
 public:
  /// What it asks of the cache beside it.
  class Cache {
   public:
    /// Nothing is sent any more.
    virtual bool stopped() const noexcept = 0;
    /// Starts `task`, which must not throw; the cache's end waits for it.
    virtual void spawn(Task<> task) = 0;
    /// To a cache; to the one beside this at the next deliver().
    virtual void post(CacheId to, CoherenceMessage coherence_message) = 0;
    /// With the page, to a cache of another rank.
    virtual void post(CacheId to, CoherenceMessage coherence_message, PageBuffers::Buffer page) = 0;
    /// Hands out the coherence messages of this rank to itself, until none is left.
    virtual void deliver() = 0;
    /// Asks a cache to write a page home soon.
    virtual void recall(CacheId node, std::uint64_t page) = 0;

   protected:
    ~Cache() = default;
  };

  /// What it refers to must outlive it. `own_messages`: of this rank to itself.
  PageHome(const SegmentCaches& caches, Cache& cache, OwnMessages& own_messages, std::unique_ptr<PageStore> store,
           bool cooperative);
  ~PageHome();
  PageHome(const PageHome&) = delete;
  PageHome& operator=(const PageHome&) = delete;

  PageStore& store() noexcept { return *store_; }
  /// What the directory knows of a page; null: nobody has it.
  const HomePage* known(std::uint64_t page) const noexcept;
  /// A request or an answer.
  void receive(const CoherenceMessage& coherence_message);
  /// That cache is no more.
  void dead(CacheId node);
  /// Tells all caches but its own that wait for a page that nothing will come.
  void refuse_all();
  /// What was written before is durable when it returns.
  Task<> flush();
  /// As the store's, while reads and writes wait.
  Task<> checkpoint(std::string name, std::uint64_t epoch);
  /// Returns when the SSD has what the page's owner had when it was called, if it had an owner.
  Task<> settle(std::uint64_t page);
  /// Of the latest failure of the file, for the words of an error; "" when there was none.
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
  /// `with_message`: the page that a coherence message with data from the SSD takes along; null: it was put before.
  void perform(std::uint64_t page, const HomeActions& actions, PageBuffers::Buffer* with_message = nullptr);
  std::uint32_t frame_of(std::uint64_t page, CacheId requester);
  Task<> read(std::uint64_t page, CacheId requester, std::uint32_t frame);
  Task<PageFailure> read_to(std::uint64_t page, std::byte* target);
  void answer_read(std::uint64_t page, PageFailure failure, PageBuffers::Buffer* with_message = nullptr);
  Task<> write(std::uint64_t page, CacheId owner, std::uint32_t frame);
  PageFailure note_failure(const Error& error);
  void transfer_ended() noexcept;
  void forget_if_idle(std::uint64_t page);

  const SegmentCaches& caches_;
  Cache& cache_;
  OwnMessages& own_messages_;
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

}  // namespace coracle::internals::storage
