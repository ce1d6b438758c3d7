// One page, its home and three caches with all that is on its way between them, as one state that can be copied,
// compared and stepped: for the exhaustive exploration of the protocol.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "storage/protocol/protocol.hpp"

namespace coracle::internals::storage {

inline constexpr CacheId kCaches = 3;

/// A rule of the protocol that is broken on purpose.
enum class Broken : std::uint8_t {
  nothing,
  wait_instead_of_nack,    ///< Who evicted and asks again waits for its own copy instead of refusing to forward.
  drop_before_put_ack,     ///< A dirty copy is dropped when its put is sent.
  take_stale_put,          ///< The home takes a put from somebody who is not the owner any more.
  next_before_done,        ///< The next transaction begins before the requester has what it asked for.
  grant_before_acks,       ///< Invalidated copies are not waited for.
  trust_sharers,           ///< The home takes a silent eviction for a copy that is still there.
  hide_lost_source,        ///< A requester is not told that its source died.
  take_late_data,          ///< Data of a source that was given up are taken.
  forget_dead_exclusive,   ///< Who was to send its only copy to a dead requester is not invalidated.
  forget_dead_owner,       ///< A dead owner's page is read from the SSD, as if it had been clean.
  forget_dead_writer,      ///< A writer that died after its grant has written nothing.
  forget_popped_sharer,    ///< Who forwarded a clean copy is not a sharer any more.
  acknowledge_failed_put,  ///< A put that the SSD refused is told as written.
};

/// Of requests: messages can only pile up as far as each cache has one request under way, so that there are finitely
/// many states.
inline constexpr std::uint8_t kWithoutEnd = 31;

/// How much may happen.
struct Bounds {
  std::uint8_t requests = 2;      ///< Of each cache.
  std::uint8_t deaths = 0;        ///< Of caches; the home's is another matter.
  std::uint8_t ssd_failures = 0;  ///< Of the page's reads and writes.
  bool cooperative = true;
  bool warm = false;  ///< Begins with cache 0 the owner of dirty data that 1 and 2 share.
  Broken broken = Broken::nothing;
};

/// What happened, for a readable counterexample.
struct Step {
  const char* what = "";
  CacheId node = kNoCache;
  Verb verb = Verb::read;
  bool at_cache = false;  ///< A message or data came to a cache.
};
std::string to_string(const Step& step);

class World {
 public:
  explicit World(const Bounds& bounds);

  /// Calls `visit` with every state that may come next.
  void successors(const std::function<void(const World&, const Step&)>& visit) const;
  /// A hash of all that matters: the same for states that differ in the caches' names or in absolute numbers only.
  std::uint64_t fingerprint() const;
  /// What is wrong with this state or the step to it; empty: nothing.
  const std::string& fault() const { return fault_; }
  PageState state(CacheId node) const { return caches_[node].page.state(); }
  /// Nothing is on its way any more.
  bool quiescent() const;

 private:
  static constexpr std::size_t kDepth = 6;
  struct Channel {
    std::uint8_t count = 0;
    std::array<PageMessage, kDepth> messages;
    void push(const PageMessage& message);
    PageMessage pop();
  };
  struct Data {
    CacheId from = kNoCache;  ///< kNoCache: the home.
    bool newest = false;
    PageMessage message;
  };
  enum class Ssd : std::uint8_t { quiet, reading, writing };
  struct Cache {
    CachePage page;
    bool newest = false;  ///< What its frame holds is what was written last.
    bool alive = true;
    bool noticed = false;  ///< The home knows of its death.
    std::uint8_t requests = 0;
    std::uint32_t next_number = 1;
    Channel to_home;
    Channel from_home;
  };

  void request(CacheId node, CacheRequest request);
  void obey(CacheId node, const CacheActions& actions);
  void obey(const HomeActions& actions);
  void tell_home(CacheId node, const PageMessage& message);
  void obey_send(const HomeAction& action);
  void write(CacheId node, bool whole);
  void deliver_to_home(CacheId node);
  void deliver_to_cache(CacheId node);
  void deliver_data(std::size_t place);
  void finish_ssd(bool well);
  void die(CacheId node, std::size_t messages_kept);
  void notice(CacheId node);
  void check();
  void check_quiescent();
  void complain(std::string what);

  void break_before_home(CacheId node, PageMessage& message);
  void break_before_death(CacheId node);
  bool break_sent(const HomeAction& action);
  bool swallowed_at_home(const PageMessage& message) const;

  std::array<CacheId, kCaches> order() const;
  void encode_cache(std::string& code, CacheId node, const std::array<CacheId, kCaches>& name) const;
  void encode_message(std::string& code, const PageMessage& message, CacheId owner,
                      const std::array<CacheId, kCaches>& name) const;
  void encode_home(std::string& code, const std::array<CacheId, kCaches>& name) const;

  std::array<Cache, kCaches> caches_;
  HomePage home_;
  std::vector<Data> data_;
  Ssd ssd_ = Ssd::quiet;
  CacheId ssd_from_ = kNoCache;
  bool ssd_newest_ = true;
  bool buffer_newest_ = false;  ///< What was read from the SSD.
  std::uint8_t deaths_left_;
  std::uint8_t failures_left_;
  bool died_ = false;
  bool noticing_ = false;  ///< Broken::forget_dead_exclusive
  Broken broken_;
  std::string fault_;
};

}  // namespace coracle::internals::storage
