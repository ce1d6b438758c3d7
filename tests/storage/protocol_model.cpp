#include "tests/storage/protocol_model.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <string_view>

namespace coracle::internals::storage {

/// Sees into the two machines.
struct ProtocolProbe {
  using Phase = HomePage::Phase;
  using Supply = HomePage::Supply;
  static auto& whole(auto& page) { return page.whole_; }
  static auto& keep(auto& page) { return page.keep_; }
  static auto& has_data(auto& page) { return page.has_data_; }
  static auto& granted(auto& page) { return page.granted_; }
  static auto& state(auto& page) { return page.state_; }
  static auto& number(auto& page) { return page.number_; }
  static auto& refused_step(auto& page) { return page.refused_step_; }
  static auto& owner(auto& home) { return home.owner_; }
  static auto& step(auto& home) { return home.step_; }
  static auto& phase(auto& home) { return home.phase_; }
  static auto& supply(auto& home) { return home.supply_; }
  static auto& source(auto& home) { return home.source_; }
  static auto& home_granted(auto& home) { return home.granted_; }
  static auto& requester(auto& home) { return home.current_.from; }
  static auto& request(auto& home) { return home.current_.message; }
  static auto& waiting(auto& home) { return home.waiting_; }
  static auto& awaited(auto& home) { return home.awaited_; }
  static std::uint8_t flags(const HomePage& home) {
    return static_cast<std::uint8_t>(home.requester_dead_ | home.orphaned_ << 1 | home.lost_ << 2);
  }
  /// Of a write.
  static std::uint8_t write_flags(const HomePage& home) {
    return static_cast<std::uint8_t>(home.granted_ | home.ssd_current_ << 1 | static_cast<int>(home.failure_) << 2);
  }
};
using Probe = ProtocolProbe;

std::string to_string(const Step& step) {
  return step.node == kNoCache ? step.what : fmt::format("{} {} {}", step.what, step.node, to_string(step.verb));
}

void World::Channel::push(const PageMessage& message) {
  CORACLE_ASSERT(count < kDepth, "more than {} messages between two", kDepth);
  messages[count++] = message;
}

PageMessage World::Channel::pop() {
  const PageMessage first = messages[0];
  std::copy(messages.begin() + 1, messages.begin() + count, messages.begin());
  --count;
  return first;
}

World::World(const Bounds& bounds)
    : home_(bounds.cooperative), deaths_left_(bounds.deaths), failures_left_(bounds.ssd_failures) {
  broken_ = Broken::nothing;
  if (bounds.warm) {
    const auto settle = [this] {
      while (!quiescent()) {
        World next = *this;
        successors([&next](const World& world, const Step&) { next = world; });
        *this = next;
      }
    };
    deaths_left_ = failures_left_ = 0;
    request(0, CacheRequest::write);
    settle();
    request(1, CacheRequest::read);
    settle();
    request(2, CacheRequest::read);
    settle();
    deaths_left_ = bounds.deaths;
    failures_left_ = bounds.ssd_failures;
  }
  for (Cache& cache : caches_) cache.requests = bounds.requests;
  broken_ = bounds.broken;
}

void World::complain(std::string what) {
  if (fault_.empty()) fault_ = std::move(what);
}

bool World::quiescent() const {
  const auto quiet = [](const Cache& cache) {
    return cache.to_home.count == 0 && cache.from_home.count == 0 && (cache.alive || cache.noticed);
  };
  return data_.empty() && ssd_ == Ssd::quiet && std::all_of(caches_.begin(), caches_.end(), quiet);
}

void World::successors(const std::function<void(const World&, const Step&)>& visit) const {
  const auto step = [&](const Step& what, const auto& change) {
    World next = *this;
    change(next);
    next.check();
    visit(next, what);
  };
  for (CacheId node = 0; node < kCaches; ++node) {
    const Cache& cache = caches_[node];
    if (cache.alive && cache.requests > 0 && !cache.page.busy()) {
      static constexpr std::array kRequests = {CacheRequest::read, CacheRequest::write, CacheRequest::write_whole,
                                               CacheRequest::evict, CacheRequest::clean};
      static constexpr std::array kNames = {"requests to read:", "requests to write:", "requests to write all:",
                                            "requests to evict:", "requests to clean:"};
      for (std::size_t i = 0; i < kRequests.size(); ++i) {
        const PageState state = cache.page.state();
        const bool does_something = kRequests[i] == CacheRequest::evict   ? state != PageState::I
                                    : kRequests[i] == CacheRequest::clean ? cache.page.dirty()
                                    : kRequests[i] == CacheRequest::read  ? !cache.page.readable()
                                                                          : true;
        if (does_something) step({kNames[i], node, Verb::read}, [&](World& next) { next.request(node, kRequests[i]); });
      }
    }
    if (cache.to_home.count > 0)
      step({"home receives from", node, cache.to_home.messages[0].verb},
           [node](World& next) { next.deliver_to_home(node); });
    if (cache.from_home.count > 0)
      step({"cache receives", node, cache.from_home.messages[0].verb, true},
           [node](World& next) { next.deliver_to_cache(node); });
    if (cache.alive && deaths_left_ > 0)
      for (std::size_t kept = 0; kept <= cache.to_home.count; ++kept)
        step({"dies:", node, Verb::read}, [&](World& next) { next.die(node, kept); });
    if (!cache.alive && !cache.noticed && cache.to_home.count == 0)
      step({"death noticed:", node, Verb::read}, [node](World& next) { next.notice(node); });
  }
  for (std::size_t place = 0; place < data_.size(); ++place) {
    step({"data arrive at", data_[place].message.requester, Verb::data, true},
         [place](World& next) { next.deliver_data(place); });
    if (data_[place].from != kNoCache && !caches_[data_[place].from].alive)
      step({"data are lost to", data_[place].message.requester, Verb::data},
           [place](World& next) { next.data_.erase(next.data_.begin() + static_cast<std::ptrdiff_t>(place)); });
  }
  if (ssd_ == Ssd::quiet) return;
  step({"SSD done", kNoCache, Verb::read}, [](World& next) { next.finish_ssd(true); });
  const bool from_dead = ssd_ == Ssd::writing && !caches_[ssd_from_].alive;
  if (failures_left_ > 0 || from_dead)
    step({"SSD failed", kNoCache, Verb::read}, [](World& next) { next.finish_ssd(false); });
}

void World::request(CacheId node, CacheRequest request) {
  Cache& cache = caches_[node];
  if (cache.requests > 0 && cache.requests != kWithoutEnd) --cache.requests;
  const CacheActions actions = cache.page.on_cache_request(request, cache.next_number);
  const bool writes = request == CacheRequest::write || request == CacheRequest::write_whole;
  if (actions.ready && writes) write(node, request == CacheRequest::write_whole);
  if (cache.page.busy()) ++cache.next_number;
  obey(node, actions);
  if (broken_ == Broken::drop_before_put_ack && cache.page.state() == PageState::MIA) {
    Probe::state(cache.page) = PageState::IIA;
    cache.newest = false;
  }
}

void World::write(CacheId node, bool whole) {
  if (!whole && !caches_[node].newest) complain("a write into an old copy");
  for (Cache& cache : caches_) cache.newest = false;
  for (Data& data : data_) data.newest = false;
  ssd_newest_ = false;
  caches_[node].newest = true;
}

void World::obey(CacheId node, const CacheActions& actions) {
  Cache& cache = caches_[node];
  for (const CacheAction& action : actions) {
    switch (action.kind) {
      case CacheAction::Kind::send_home:
        cache.to_home.push(action.message);
        break;
      case CacheAction::Kind::send_data:
        if (caches_[action.to].alive) data_.push_back({node, cache.newest, action.message});
        break;
      case CacheAction::Kind::became_writable:
        write(node, Probe::whole(cache.page));
        break;
      case CacheAction::Kind::failed:
        if (action.message.failure == PageFailure::lost && !died_) complain("told lost, but nobody has died");
        cache.newest = false;
        break;
      case CacheAction::Kind::lost_copy:
      case CacheAction::Kind::dropped:
        cache.newest = false;
        break;
      default:
        break;
    }
  }
}

void World::tell_home(CacheId node, const PageMessage& message) {
  if (!home_.expects(node, message)) {
    complain(fmt::format("the home does not expect {} from {}", to_string(message.verb), node));
    return;
  }
  HomeActions actions;
  home_.on_message(node, message, actions);
  obey(actions);
}

void World::obey(const HomeActions& actions) {
  for (const HomeAction& action : actions) {
    switch (action.kind) {
      case HomeAction::Kind::send:
        if (!break_sent(action)) obey_send(action);
        break;
      case HomeAction::Kind::send_ssd:
        if (caches_[action.to].alive) data_.push_back({kNoCache, buffer_newest_, action.message});
        break_sent(action);
        break;
      case HomeAction::Kind::read_ssd:
      case HomeAction::Kind::write_ssd:
        if (ssd_ != Ssd::quiet) complain("two transfers of one page to or from the SSD");
        ssd_ = action.kind == HomeAction::Kind::read_ssd ? Ssd::reading : Ssd::writing;
        ssd_from_ = action.to;
        break;
    }
  }
}

void World::obey_send(const HomeAction& action) {
  if (caches_[action.to].alive) caches_[action.to].from_home.push(action.message);
}

void World::deliver_to_home(CacheId node) {
  PageMessage message = caches_[node].to_home.pop();
  if (swallowed_at_home(message)) return;
  break_before_home(node, message);
  tell_home(node, message);
}

void World::deliver_to_cache(CacheId node) {
  Cache& cache = caches_[node];
  const PageMessage message = cache.from_home.pop();
  const bool forward = message.verb == Verb::forward_shared || message.verb == Verb::forward_exclusive;
  const bool asks = cache.page.state() == PageState::IS || cache.page.state() == PageState::IM;
  if (broken_ == Broken::wait_instead_of_nack && forward && asks) return;
  if (!cache.page.expects(message)) {
    complain(fmt::format("cache {} in state {} does not expect {}", node, to_string(cache.page.state()),
                         to_string(message.verb)));
    return;
  }
  obey(node, cache.page.on_message(message));
  if (broken_ == Broken::take_late_data) Probe::refused_step(cache.page) = 0;
}

void World::deliver_data(std::size_t place) {
  const Data data = data_[place];
  data_.erase(data_.begin() + static_cast<std::ptrdiff_t>(place));
  Cache& cache = caches_[data.message.requester];
  if (cache.page.wants(data.message)) cache.newest = data.newest;
  obey(data.message.requester, cache.page.on_message(data.message));
}

void World::finish_ssd(bool well) {
  HomeActions actions;
  const Ssd was = ssd_;
  const CacheId from = ssd_from_;
  ssd_ = Ssd::quiet;
  ssd_from_ = kNoCache;
  const bool from_dead = was == Ssd::writing && !caches_[from].alive;
  if (!well && !from_dead) --failures_left_;
  const bool reading = Probe::supply(home_) == Probe::Supply::ssd;
  if (reading != (was == Ssd::reading) || (!reading && Probe::phase(home_) != Probe::Phase::putting))
    return complain("a transfer of the SSD for a transaction that is over");
  PageFailure failure = well ? PageFailure::none : PageFailure::io;
  if (was == Ssd::reading) {
    buffer_newest_ = ssd_newest_;
    home_.on_ssd_read(failure, actions);
  } else {
    if (well) ssd_newest_ = caches_[from].newest;
    if (broken_ == Broken::acknowledge_failed_put) failure = PageFailure::none;
    home_.on_ssd_written(failure, actions);
  }
  obey(actions);
}

void World::die(CacheId node, std::size_t messages_kept) {
  Cache& cache = caches_[node];
  --deaths_left_;
  died_ = true;
  cache.alive = false;
  cache.page = CachePage{};
  cache.to_home.count = static_cast<std::uint8_t>(messages_kept);
  cache.from_home.count = 0;
  cache.requests = 0;
  std::erase_if(data_, [node](const Data& data) { return data.message.requester == node; });
}

void World::notice(CacheId node) {
  caches_[node].noticed = true;
  break_before_death(node);
  HomeActions actions;
  home_.on_dead(node, actions);
  noticing_ = true;
  obey(actions);
  noticing_ = false;
}

void World::check() {
  std::size_t dirty = 0;
  std::size_t readable = 0;
  bool writable = false;
  for (const Cache& cache : caches_) {
    if (!cache.alive) continue;
    // One that waits for its put-ack is not read any more, unless it keeps its copy; the ack may be under way.
    const bool owns = cache.page.dirty() && cache.page.state() != PageState::MIA;
    dirty += owns;
    readable += cache.page.readable();
    writable = writable || cache.page.writable();
    if ((cache.page.readable() || owns) && !cache.newest) complain("an old copy can be read");
  }
  if (dirty > 1) complain("two owners");
  if (writable && readable > 1) complain("a reader beside a writer");
  if (fault_.empty() && quiescent()) check_quiescent();
}

void World::check_quiescent() {
  if (!home_.idle()) return complain("the home waits for ever");
  for (CacheId node = 0; node < kCaches; ++node) {
    const Cache& cache = caches_[node];
    if (!cache.alive) continue;
    if (cache.page.busy()) return complain(fmt::format("cache {} waits for ever", node));
    const auto& sharers = home_.sharers();
    const bool known = home_.owner() == node || std::find(sharers.begin(), sharers.end(), node) != sharers.end();
    if (cache.page.readable() && !known) complain("the home does not know of a copy");
  }
  if (home_.lost()) {
    if (!died_) complain("lost, but nobody has died");
    if (home_.owner() != kNoCache || !home_.sharers().empty()) complain("lost, but somebody has it");
  } else if (home_.owner() == kNoCache) {
    if (!ssd_newest_) complain("a write is lost");
  } else if (const Cache& owner = caches_[home_.owner()]; !owner.alive || !owner.page.dirty() || !owner.newest) {
    complain("the owner does not have what was written last");
  }
}

void World::break_before_home(CacheId node, PageMessage& message) {
  if (broken_ == Broken::trust_sharers && message.verb == Verb::write) message.has_copy = true;
  if (broken_ == Broken::take_stale_put && message.verb == Verb::put && home_.idle()) Probe::owner(home_) = node;
  if (broken_ == Broken::forget_popped_sharer && message.verb == Verb::done &&
      Probe::phase(home_) == Probe::Phase::reading)
    Probe::supply(home_) = Probe::Supply::ssd_sent;
}

void World::break_before_death(CacheId node) {
  const bool putting = Probe::phase(home_) == Probe::Phase::putting;
  if (broken_ == Broken::forget_dead_owner && home_.owner() == node && !putting) Probe::owner(home_) = kNoCache;
  if (broken_ == Broken::forget_dead_writer && Probe::requester(home_) == node) Probe::home_granted(home_) = false;
}

/// True when the message is not to be sent.
bool World::break_sent(const HomeAction& action) {
  const Verb verb = action.message.verb;
  const bool last = verb == Verb::forward_shared || verb == Verb::grant ||
                    (verb == Verb::data && Probe::phase(home_) == Probe::Phase::reading);
  if (broken_ == Broken::next_before_done && last) {
    if (verb != Verb::data) obey_send(action);
    tell_home(action.message.requester, {.verb = Verb::done, .number = action.message.number});
    return true;
  }
  const bool to_source_of_dead = broken_ == Broken::forget_dead_exclusive && noticing_;
  if (verb == Verb::invalidate && (broken_ == Broken::grant_before_acks || to_source_of_dead)) {
    if (!to_source_of_dead) obey_send(action);
    tell_home(action.to, {.verb = Verb::ack, .step = action.message.step});
    return true;
  }
  return broken_ == Broken::hide_lost_source && verb == Verb::source_lost;
}

bool World::swallowed_at_home(const PageMessage& message) const {
  return (broken_ == Broken::next_before_done && message.verb == Verb::done) ||
         (broken_ == Broken::grant_before_acks && message.verb == Verb::ack);
}

// The caches are alike, so that states that differ in their names alone are one: they are put in an order that mostly
// does not depend on the names. Where it does, a state is visited twice, which costs only time.
std::array<CacheId, kCaches> World::order() const {
  std::array<std::uint64_t, kCaches> keys{};
  for (CacheId node = 0; node < kCaches; ++node) {
    const Cache& cache = caches_[node];
    std::uint64_t key = static_cast<std::uint64_t>(cache.page.state()) << 4 | (cache.requests & 15U);
    key = key << 3 | static_cast<std::uint64_t>(cache.newest | cache.alive << 1 | cache.noticed << 2);
    for (const Channel* channel : {&cache.to_home, &cache.from_home}) {
      key = key << 3 | channel->count;
      for (std::size_t i = 0; i < channel->count && i < 3; ++i)
        key = key << 4 | static_cast<std::uint64_t>(channel->messages[i].verb);
    }
    const auto& sharers = home_.sharers();
    const auto found = std::find(sharers.begin(), sharers.end(), node);
    keys[node] = key << 3 | static_cast<std::uint64_t>(found - sharers.begin()) << 1 | (home_.owner() == node);
  }
  std::array<CacheId, kCaches> nodes{};
  std::iota(nodes.begin(), nodes.end(), CacheId{0});
  std::sort(nodes.begin(), nodes.end(), [&keys](CacheId a, CacheId b) { return keys[a] < keys[b]; });
  return nodes;
}

namespace {

char byte(std::uint64_t value) {
  return static_cast<char>(static_cast<unsigned char>(std::min<std::uint64_t>(value, 255)));
}

template <class Names>
char named(CacheId node, const Names& name) {
  return node == kNoCache ? '-' : byte(name[node]);
}

}  // namespace

void World::encode_message(std::string& code, const PageMessage& message, CacheId owner,
                           const std::array<CacheId, kCaches>& name) const {
  code += byte(static_cast<std::uint64_t>(message.verb));
  code += byte(static_cast<std::uint64_t>(message.has_copy | message.whole << 1 | message.keep << 2 |
                                          static_cast<int>(message.failure) << 3));
  const Verb verb = message.verb;
  const bool of_other = verb == Verb::forward_shared || verb == Verb::forward_exclusive || verb == Verb::data;
  const bool numberless = verb == Verb::invalidate || verb == Verb::adopt || verb == Verb::ack || verb == Verb::nack;
  const bool stepless =
      verb == Verb::grant || verb == Verb::put_ack || verb == Verb::failed || verb == Verb::done || verb <= Verb::put;
  if (of_other) code += named(message.requester, name);
  // How late a message is does not matter, so that late data do not make states without end.
  const std::uint32_t age = numberless ? 0 : caches_[of_other ? message.requester : owner].next_number - message.number;
  code += byte(std::min(age, 2U));
  if (!stepless && age < 2) code += byte(std::min(Probe::step(home_) - message.step, 12U));
}

void World::encode_cache(std::string& code, CacheId node, const std::array<CacheId, kCaches>& name) const {
  const Cache& cache = caches_[node];
  const CachePage& page = cache.page;
  const PageState state = page.state();
  code += byte(static_cast<std::uint64_t>(state));
  // A dead cache's content matters as long as it is being written.
  const bool newest = cache.newest && (cache.alive || ssd_from_ == node);
  code += byte(static_cast<std::uint64_t>(newest | cache.alive << 1 | cache.noticed << 2 | cache.requests << 3));
  if (page.busy()) {
    const bool in_im = state == PageState::IM;
    const bool writing = in_im || state == PageState::SM || state == PageState::OM;
    code += byte(static_cast<std::uint64_t>((in_im && Probe::has_data(page)) | (in_im && Probe::granted(page)) << 1 |
                                            (writing && Probe::whole(page)) << 2 |
                                            (state == PageState::MIA && Probe::keep(page)) << 3));
    code += byte(cache.next_number - Probe::number(page));
    const std::uint32_t refused = Probe::refused_step(page);
    code += refused == 0 ? '-' : byte(std::min(Probe::step(home_) - refused, 12U));
  }
  for (const Channel* channel : {&cache.to_home, &cache.from_home}) {
    code += byte(channel->count);
    for (std::size_t i = 0; i < channel->count; ++i) encode_message(code, channel->messages[i], node, name);
  }
}

void World::encode_home(std::string& code, const std::array<CacheId, kCaches>& name) const {
  code += named(home_.owner(), name);
  code += byte(Probe::flags(home_));
  code += byte(home_.sharers().size());
  for (const CacheId node : home_.sharers()) code += named(node, name);
  for (const auto& request : Probe::waiting(home_)) {
    code += named(request.from, name);
    encode_message(code, request.message, request.from, name);
  }
  code += byte(static_cast<std::uint64_t>(Probe::phase(home_)));
  if (home_.idle()) return;
  code += byte(static_cast<std::uint64_t>(Probe::supply(home_)));
  code += named(Probe::source(home_), name);
  code += named(Probe::requester(home_), name);
  if (Probe::requester(home_) != kNoCache) encode_message(code, Probe::request(home_), Probe::requester(home_), name);
  if (Probe::phase(home_) != Probe::Phase::writing) return;
  code += byte(Probe::write_flags(home_));
  std::uint64_t awaited = 0;
  for (const CacheId node : Probe::awaited(home_)) awaited |= std::uint64_t{1} << name[node];
  code += byte(awaited);
}

std::uint64_t World::fingerprint() const {
  const std::array<CacheId, kCaches> nodes = order();
  std::array<CacheId, kCaches> name{};
  for (CacheId place = 0; place < kCaches; ++place) name[nodes[place]] = place;
  std::string code;
  code.reserve(256);
  for (const CacheId node : nodes) encode_cache(code, node, name);
  encode_home(code, name);
  code += byte(static_cast<std::uint64_t>(ssd_));
  code += named(ssd_from_, name);
  code += byte(static_cast<std::uint64_t>(ssd_newest_ | deaths_left_ << 1 | failures_left_ << 4));
  std::vector<std::string> data;
  for (const Data& item : data_) {
    std::string one;
    one += named(item.from, name);
    one += item.newest ? '1' : '0';
    encode_message(one, item.message, kNoCache, name);
    data.push_back(one);
  }
  std::sort(data.begin(), data.end());
  for (const std::string& one : data) code += one;
  return std::hash<std::string_view>{}(code);
}

}  // namespace coracle::internals::storage
